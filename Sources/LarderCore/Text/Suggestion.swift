/// A larder command in a message, which users can paste into a shell.
package enum Suggestion {
    /// Returns the options of this run that a suggested command also needs, such as
    /// ` --cache icons`.
    ///
    /// `nonisolated(unsafe)` because the program sets it once, before it starts other threads. Apps
    /// do not set it.
    nonisolated(unsafe) package static var optionsInUse: (_ words: String) -> String = { _ in "" }

    /// Returns a command such as `larder verify --repair --cache icons`.
    ///
    /// - Parameter words: The command and its options, without `larder`.
    package static func command(_ words: String) -> String {
        "larder \(words)\(optionsInUse(words))"
    }
}
