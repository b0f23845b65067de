// Relays connections and delays the bytes in each direction:
//
//     delay-relay LISTEN-PORT TARGET-PORT MILLISECONDS
//
// Both ports are on 127.0.0.1. A round trip takes two delays, and so does opening a connection.

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

func fail(_ status: Int32, _ message: String) -> Never {
    _ = "\(message)\n".withCString { write(STDERR_FILENO, $0, strlen($0)) }
    exit(status)
}

let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
guard numbers.count == 3, let port = UInt16(exactly: numbers[0]),
    let target = UInt16(exactly: numbers[1]), numbers[2] >= 0
else { fail(64, "usage: delay-relay LISTEN-PORT TARGET-PORT MILLISECONDS") }
signal(SIGPIPE, SIG_IGN)
guard var relay = Relay(port: port, target: target, delay: .milliseconds(numbers[2])) else {
    fail(1, "delay-relay: port \(port): \(String(cString: strerror(errno)))")
}
relay.run()
