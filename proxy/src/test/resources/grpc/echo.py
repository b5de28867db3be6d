"""A gRPC service of bytes, and a client of it: echo.py serve|call PORT [HOST]"""
import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

SERVICE = "test.Echo"


def fail(request, context):
    context.set_trailing_metadata((("reason", "kept"),))
    context.abort(grpc.StatusCode.NOT_FOUND, "no such item")


def serve(port):
    server = grpc.server(ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, {
        "Say": grpc.unary_unary_rpc_method_handler(lambda request, _: b"you said " + request),
        "Fail": grpc.unary_unary_rpc_method_handler(fail),
        "Count": grpc.unary_stream_rpc_method_handler(
            lambda request, _: (b"%d" % i for i in range(int(request)))),
        "Chat": grpc.stream_stream_rpc_method_handler(
            lambda requests, _: (b"re: " + one for one in requests)),
    }),))
    if server.add_insecure_port("127.0.0.1:" + port) == 0:
        sys.exit("the port is in use")
    server.start()
    server.wait_for_termination()


def turns(answers):
    """Each message is sent after the answer to the one before."""
    yield b"one"
    yield b"after " + answers.get(timeout=20)


def call(port, host):
    import queue

    options = (("grpc.default_authority", host), ("grpc.enable_http_proxy", 0))
    with grpc.insecure_channel("127.0.0.1:" + port, options) as channel:
        name = "/" + SERVICE + "/"
        print(channel.unary_unary(name + "Say")(b"hello", timeout=20).decode())
        large = channel.unary_unary(name + "Say")(b"x" * 1_000_000, timeout=20)
        print(len(large))
        print(b",".join(channel.unary_stream(name + "Count")(b"3", timeout=20)).decode())
        answers = queue.Queue()
        for answer in channel.stream_stream(name + "Chat")(turns(answers), timeout=20):
            print(answer.decode())
            answers.put(answer)
        try:
            channel.unary_unary(name + "Fail")(b"", timeout=20)
        except grpc.RpcError as e:
            print(e.code().name, e.details(), dict(e.trailing_metadata()).get("reason"))


if sys.argv[1] == "serve":
    serve(sys.argv[2])
else:
    call(sys.argv[2], sys.argv[3])
