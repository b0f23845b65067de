/// Whoever hands deposits to a ``Store``, and is told what became of them.
package protocol Depositor: AnyObject, Sendable {
    /// Takes the outcomes of its own deposits in a batch, in the order in which they were added.
    /// Called on the store's queue, never beside itself.
    func committed(_ outcomes: [Store.Outcome])
}
