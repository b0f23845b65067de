/// A promise that a kill has broken.
struct KillFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
