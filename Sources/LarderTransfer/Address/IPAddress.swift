import Foundation

/// A numeric address of the internet.
enum IPAddress: Hashable {
    case v4(UInt32)
    case v6(UInt128)

    /// The address in a socket's address; `nil` if it is of another family, or cut short.
    init?(_ address: UnsafePointer<sockaddr>, length: Int) {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            self = .v4(
                UInt32(bigEndian: bytes.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr))
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            var ip = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            self = .v6(
                UInt128(
                    bigEndian: withUnsafeBytes(of: &ip) { $0.loadUnaligned(as: UInt128.self) }))
        default: return nil
        }
    }

    /// An address in any notation that the system takes for one (`inet_aton`'s short, octal and
    /// hexadecimal ones too), with or without brackets and zone; `nil` for a name. Asks no
    /// resolver.
    init?(literal text: Substring) {
        var text = text
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        // Every notation begins with a decimal digit or has colons; most hosts are names.
        guard text.first?.isNumber == true || text.contains(":") else { return nil }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(String(text.prefix { $0 != "%" }), nil, &hints, &found) == 0 else {
            return nil
        }
        defer { freeaddrinfo(found) }
        guard let information = found?.pointee, let address = information.ai_addr else {
            return nil
        }
        self.init(address, length: Int(information.ai_addrlen))
    }

    /// Whether the first `length` bits are those of `network`, which is of the same version.
    func isWithin(_ network: IPAddress, prefixLength length: Int) -> Bool {
        switch (self, network) {
        case (.v4(let address), .v4(let network)):
            (0...32).contains(length) && (address ^ network) >> (32 - length) == 0
        case (.v6(let address), .v6(let network)):
            (0...128).contains(length) && (address ^ network) >> (128 - length) == 0
        default: false
        }
    }

    /// What kind of special address it is, in words; `nil` if it is public.
    var specialKind: String? {
        switch self {
        case .v4(let address): SpecialAddresses.kind(ofIPv4: address)
        case .v6(let address): SpecialAddresses.kind(ofIPv6: address)
        }
    }
}

extension IPAddress: CustomStringConvertible {
    /// As `inet_ntop` writes it.
    var description: String {
        func text(_ family: Int32, _ address: UnsafeRawPointer) -> String {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
                inet_ntop(family, address, $0.baseAddress, socklen_t($0.count))
                    .map { String(cString: $0) } ?? "the address"
            }
        }
        switch self {
        case .v4(let address):
            var bytes = address.bigEndian
            return text(AF_INET, &bytes)
        case .v6(let address):
            var bytes = address.bigEndian
            return text(AF_INET6, &bytes)
        }
    }
}
