import Crypto
import LarderCache

extension LarderCache.Digest {
    /// The digest of some bytes.
    static func of(_ bytes: [UInt8]) throws -> LarderCache.Digest? {
        LarderCache.Digest(bytes: Array(SHA256.hash(data: bytes)))
    }
}
