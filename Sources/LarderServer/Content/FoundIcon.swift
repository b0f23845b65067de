import LarderCache
import NIOCore

/// An icon and where its bytes are.
struct FoundIcon: Sendable {
    enum Bytes: Sendable {
        case memory(ByteBuffer)
        case file(LentFile)
    }

    let icon: KnownIcon
    let bytes: Bytes
}
