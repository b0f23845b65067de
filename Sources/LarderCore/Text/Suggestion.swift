/// A larder command in a message, which users can paste into a shell.
package enum Suggestion {
    /// Returns this run's options that a suggested command also needs, such as ` --cache icons`.
    /// `nonisolated(unsafe)` because the program sets it once, before it starts other threads.
    nonisolated(unsafe) package static var optionsInUse: (_ words: String) -> String = { _ in "" }

    /// Returns a command such as `larder verify --repair --cache icons` for `verify --repair`.
    package static func command(_ words: String) -> String {
        "larder \(words)\(optionsInUse(words))"
    }
}
