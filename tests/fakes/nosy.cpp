// A program that tries what a stranger's would: one line each, "attempt NAME: done" or "attempt NAME: refused".
// targets.h says where the things to be tried are.
#include "targets.h"

#include <arpa/inet.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void tell(const char * name, bool done) { std::printf("attempt %s: %s\n", name, done ? "done" : "refused"); }

static bool opens(const std::string & path, int how) {
    int file = open(path.c_str(), how, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

static bool asks_inet() {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(PORT);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(socket(AF_INET, SOCK_STREAM, 0), (sockaddr *) &to, sizeof to) == 0;
}

static bool asks_unix(const char * name, size_t size) {
    sockaddr_un to = {};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, name, size);
    return connect(socket(AF_UNIX, SOCK_STREAM, 0), (sockaddr *) &to, offsetof(sockaddr_un, sun_path) + size) == 0;
}

static bool finds_canary() {
    glob_t found;
    glob("/proc/[0-9]*/environ", 0, nullptr, &found);
    for (size_t i = 0; i < found.gl_pathc; ++i) {
        std::string text;
        if (FILE * file = std::fopen(found.gl_pathv[i], "rb")) {
            char part[4096];
            for (size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
            std::fclose(file);
        }
        if (text.find(CANARY) != std::string::npos) return true;
    }
    return false;
}

static bool leaves_daemon() {
    if (fork() == 0) {
        setsid();
        for (int file = 0; file < 256; ++file) close(file);
        execl("/bin/sleep", "sleep", DAEMON, (char *) nullptr);
        _exit(1);
    }
    return true;
}

int main(int count, char ** words) {
    if (count > 1 && !std::strcmp(words[1], "--version")) {
        std::fprintf(stderr, "version: 0.1 (build 0, commit unknown)\n");
        return 0;
    }
    const char * home = std::getenv("HOME");
    tell("home", opens(HOME_SECRET, O_RDONLY));
    tell("home-by-variable", opens(std::string(home ? home : "") + "/secret", O_RDONLY));
    tell("passwd", opens("/etc/passwd", O_RDONLY));
    tell("outside", opens(OUTSIDE, O_WRONLY | O_CREAT));
    tell("source", opens(SOURCE "/planted", O_WRONLY | O_CREAT));
    tell("loopback", asks_inet());
    tell("socket", asks_unix(SOCKET, sizeof SOCKET));
    tell("abstract-socket", asks_unix("\0" ABSTRACT, sizeof ABSTRACT));
    tell("harness", kill(HARNESS, 0) == 0);
    tell("environment", finds_canary());
    tell("kernel", opens("/proc/sys/kernel/core_pattern", O_WRONLY));
    leaves_daemon();
    return 7;
}
