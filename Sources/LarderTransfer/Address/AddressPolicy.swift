#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Which addresses may be connected to.
///
/// Asked for each address after the name look-up and before the connection, so that neither a name
/// nor a notation, and no second look-up of the same name, leads around it.
public enum AddressPolicy: Sendable {
    /// Addresses of the public internet only: a manifest from elsewhere cannot make this machine
    /// fetch from its own network.
    case publicOnly
    /// Every address.
    case allowAll

    /// Why the address is refused, such as `127.0.0.1 is a loopback address`; `nil` if it is not.
    public func refusal(of address: UnsafePointer<sockaddr>, length: Int) -> String? {
        switch self {
        case .allowAll: return nil
        case .publicOnly: break
        }
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET where length >= MemoryLayout<sockaddr_in>.size:
            var ip = bytes.loadUnaligned(as: sockaddr_in.self).sin_addr
            guard let kind = SpecialAddresses.kind(ofIPv4: UInt32(bigEndian: ip.s_addr)) else {
                return nil
            }
            return "\(Self.text(AF_INET, &ip)) is \(kind)"
        case AF_INET6 where length >= MemoryLayout<sockaddr_in6>.size:
            var ip = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            let number = withUnsafeBytes(of: &ip) { $0.loadUnaligned(as: UInt128.self) }
            guard let kind = SpecialAddresses.kind(ofIPv6: UInt128(bigEndian: number)) else {
                return nil
            }
            return "\(Self.text(AF_INET6, &ip)) is \(kind)"
        default:
            return "the address is neither IPv4 nor IPv6"
        }
    }

    private static func text(_ family: Int32, _ address: UnsafeRawPointer) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            inet_ntop(family, address, buffer.baseAddress, socklen_t(buffer.count))
                .map { String(cString: $0) } ?? "the address"
        }
    }
}
