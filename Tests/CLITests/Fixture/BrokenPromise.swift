/// A promise that the program under test has broken.
struct BrokenPromise: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
