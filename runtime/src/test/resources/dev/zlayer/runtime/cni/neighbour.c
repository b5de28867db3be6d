/* A neighbour on a bridge, by raw frames: forges those of others, or says which ones it sees. */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int link_socket;
static unsigned char own[6];

static void fail(const char *what) {
  perror(what);
  _exit(2);
}

static void open_link(const char *name) {
  struct ifreq request = {0};
  struct sockaddr_ll address = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
  link_socket = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  if (link_socket < 0) fail("socket");
  strncpy(request.ifr_name, name, IFNAMSIZ - 1);
  if (ioctl(link_socket, SIOCGIFHWADDR, &request) < 0) fail("address");
  memcpy(own, request.ifr_hwaddr.sa_data, 6);
  if (ioctl(link_socket, SIOCGIFINDEX, &request) < 0) fail("index");
  address.sll_ifindex = request.ifr_ifindex;
  if (bind(link_socket, (struct sockaddr *) &address, sizeof address) < 0) fail("bind");
}

static void send_frame(const unsigned char *to, int type, const unsigned char *body, int size) {
  unsigned char frame[256] = {0};
  memcpy(frame, to, 6);
  memcpy(frame + 6, own, 6);
  frame[12] = type >> 8;
  frame[13] = type & 255;
  memcpy(frame + 14, body, size);
  if (write(link_socket, frame, 14 + (size < 46 ? 46 : size)) < 0) fail("write");
}

static const unsigned char everybody[6] = {255, 255, 255, 255, 255, 255};
static const unsigned char nodes[6] = {0x33, 0x33, 0, 0, 0, 1};

/* An ARP reply to all: this address is mine. */
static void claim(const char *ip) {
  unsigned char body[28] = {0, 1, 8, 0, 6, 4, 0, 2};
  memcpy(body + 8, own, 6);
  inet_pton(AF_INET, ip, body + 14);
  memcpy(body + 18, everybody, 6);
  inet_pton(AF_INET, ip, body + 24);
  send_frame(everybody, ETH_P_ARP, body, sizeof body);
}

/* A datagram in a frame to all, from that address to one of the network. */
static void datagram(const char *ip, const char *to) {
  unsigned char body[28] = {0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17};
  unsigned sum = 0;
  inet_pton(AF_INET, ip, body + 12);
  inet_pton(AF_INET, to, body + 16);
  body[21] = body[23] = 9;
  body[25] = 8;
  for (int i = 0; i < 20; i += 2) sum += body[i] << 8 | body[i + 1];
  while (sum >> 16) sum = (sum & 65535) + (sum >> 16);
  body[10] = ~sum >> 8;
  body[11] = ~sum;
  send_frame(everybody, ETH_P_IP, body, sizeof body);
}

/* ICMPv6 to all nodes: 134 is a router's advertisement, 137 a redirect. */
static void icmp6(int type) {
  unsigned char body[80] = {0x60, 0, 0, 0, 0, 40, 58, 255};
  inet_pton(AF_INET6, "fe80::bad", body + 8);
  inet_pton(AF_INET6, "ff02::1", body + 24);
  body[40] = type;
  send_frame(nodes, ETH_P_IPV6, body, sizeof body);
}

static void forge(const char *ip, const char *mine) {
  claim(ip);
  datagram(ip, mine);
  icmp6(134);
  icmp6(137);
  claim(mine);
}

/* What that interface sends, until it claims the last address. */
static void listen_until(const char *last, const char *sender) {
  unsigned from[6];
  unsigned char mac[6];
  if (sscanf(sender, "%x:%x:%x:%x:%x:%x", from, from + 1, from + 2, from + 3, from + 4, from + 5)
      != 6) _exit(64);
  for (int i = 0; i < 6; i++) mac[i] = from[i];
  unsigned char frame[2048];
  char text[64];
  setvbuf(stdout, 0, _IONBF, 0);
  puts("ready");
  for (;;) {
    ssize_t size = read(link_socket, frame, sizeof frame);
    if (size < 0) fail("read");
    int type = frame[12] << 8 | frame[13];
    if (memcmp(frame + 6, mac, 6)) continue;
    if (type == ETH_P_ARP) {
      inet_ntop(AF_INET, frame + 28, text, sizeof text);
      printf("arp %s\n", text);
      if (!strcmp(text, last)) return;
    } else if (type == ETH_P_IP) {
      printf("ip %s\n", inet_ntop(AF_INET, frame + 26, text, sizeof text));
    } else if (type == ETH_P_IPV6 && frame[20] == 58 && (frame[54] == 134 || frame[54] == 137)) {
      printf("icmp6 %d\n", frame[54]);
    }
  }
}

int main(int count, char **words) {
  if (count < 5) return 64;
  open_link(words[2]);
  alarm(20);
  if (!strcmp(words[1], "listen")) listen_until(words[3], words[4]);
  else forge(words[3], words[4]);
  return 0;
}
