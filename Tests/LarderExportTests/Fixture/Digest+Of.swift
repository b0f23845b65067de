import Crypto
import LarderCore

extension LarderCore.Digest {
    static func of(_ bytes: [UInt8]) throws -> LarderCore.Digest? {
        LarderCore.Digest(bytes: Array(SHA256.hash(data: bytes)))
    }
}
