/// The name of one transfer, unique within its ``TransferLoop``.
package struct TransferID: Hashable, Sendable {
    let number: UInt64
}
