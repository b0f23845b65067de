import Foundation

/// How wide help and messages may be.
enum TextWidth {
    /// Longer lines are hard to read.
    private static let most = 100
    private static let usual = 80

    /// What `$COLUMNS` says, else the terminal behind a descriptor.
    static func of(_ descriptor: Int32) -> Int {
        let said = ProcessInfo.processInfo.environment["COLUMNS"].flatMap { Int($0) }
        if let said, said > 0 { return min(said, most) }
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
            return usual
        }
        return min(Int(size.ws_col), most)
    }
}
