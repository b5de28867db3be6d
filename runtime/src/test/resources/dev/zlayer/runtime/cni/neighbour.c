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
static const unsigned char other[6] = {2, 0, 0, 0, 0, 0x99};

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

/* How the next frame is hidden: under another MAC address, or a tag of VLAN 0. */
enum { PLAIN, OTHER_MAC, TAGGED } hidden;

static void send_frame(const unsigned char *to, int type, const unsigned char *body, int size) {
  unsigned char frame[256] = {0};
  int at = 12;
  memcpy(frame, to, 6);
  memcpy(frame + 6, hidden == OTHER_MAC ? other : own, 6);
  if (hidden == TAGGED) {
    frame[at] = 0x81;
    at += 4;
  }
  frame[at++] = type >> 8;
  frame[at++] = type & 255;
  memcpy(frame + at, body, size);
  if (write(link_socket, frame, at + (size < 46 ? 46 : size)) < 0) fail("write");
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

/* Neighbour discovery to all nodes about that address: 136 says that it is mine, 135 that I am
   about to take it. */
static void neighbour(int type, const char *from, const char *target) {
  unsigned char body[72] = {0x60, 0, 0, 0, 0, 32, 58, 255};
  unsigned char *message = body + 40;
  unsigned sum;
  inet_pton(AF_INET6, from, body + 8);
  inet_pton(AF_INET6, "ff02::1", body + 24);
  message[0] = type;
  if (type == 136) message[4] = 0x20;
  inet_pton(AF_INET6, target, message + 8);
  int size = type == 136 ? 32 : 24;
  body[5] = size;
  if (type == 136) {
    message[24] = 2;
    message[25] = 1;
    memcpy(message + 26, own, 6);
  }
  sum = size + 58;
  for (int i = 8; i < 40 + size; i += 2) sum += body[i] << 8 | body[i + 1];
  while (sum >> 16) sum = (sum & 65535) + (sum >> 16);
  message[2] = ~sum >> 8;
  message[3] = ~sum;
  send_frame(nodes, ETH_P_IPV6, body, 40 + size);
}

static void forge(const char *ip, const char *mine, const char *ip6, const char *mine6) {
  claim(ip);
  datagram(ip, mine);
  icmp6(134);
  icmp6(137);
  neighbour(136, mine6, ip6);
  neighbour(136, ip6, ip6);
  neighbour(135, "::", ip6);
  hidden = TAGGED;
  claim(ip);
  neighbour(136, mine6, ip6);
  hidden = OTHER_MAC;
  datagram(mine, ip);
  hidden = PLAIN;
  claim(mine);
}

/* What that interface sends, until it claims the last address; of discovery what is about ip6. */
static void listen_until(const char *last, const char *sender, const char *ip6) {
  unsigned from[6];
  unsigned char mac[6];
  if (sscanf(sender, "%x:%x:%x:%x:%x:%x", from, from + 1, from + 2, from + 3, from + 4, from + 5)
      != 6) _exit(64);
  for (int i = 0; i < 6; i++) mac[i] = from[i];
  unsigned char frame[2048], about[16];
  char text[64];
  if (inet_pton(AF_INET6, ip6, about) != 1) _exit(64);
  setvbuf(stdout, 0, _IONBF, 0);
  puts("ready");
  for (;;) {
    ssize_t size = read(link_socket, frame, sizeof frame);
    if (size < 0) fail("read");
    int type = frame[12] << 8 | frame[13];
    if (!memcmp(frame + 6, other, 6)) puts("mac");
    if (memcmp(frame + 6, mac, 6)) continue;
    if (type == ETH_P_ARP) {
      inet_ntop(AF_INET, frame + 28, text, sizeof text);
      printf("arp %s\n", text);
      if (!strcmp(text, last)) return;
    } else if (type == ETH_P_IP) {
      printf("ip %s\n", inet_ntop(AF_INET, frame + 26, text, sizeof text));
    } else if (type == ETH_P_IPV6 && frame[20] == 58 && (frame[54] == 134 || frame[54] == 137)) {
      printf("icmp6 %d\n", frame[54]);
    } else if (type == ETH_P_IPV6 && frame[20] == 58 && (frame[54] == 135 || frame[54] == 136)
               && !memcmp(frame + 62, about, 16)) {
      printf("icmp6 %d %s\n", frame[54], inet_ntop(AF_INET6, frame + 22, text, sizeof text));
    }
  }
}

int main(int count, char **words) {
  if (count < 6) return 64;
  open_link(words[2]);
  alarm(20);
  if (!strcmp(words[1], "listen")) listen_until(words[3], words[4], words[5]);
  else if (count > 6) forge(words[3], words[4], words[5], words[6]);
  return 0;
}
