/// The name of one transfer, unique within its ``TransferLoop``.
public struct TransferID: Hashable, Sendable {
    let number: UInt64
}
