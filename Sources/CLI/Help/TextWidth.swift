/// How wide help and messages may be.
enum TextWidth {
    /// Longer lines are hard to read.
    private static let most = 100
    private static let usual = 80

    /// What `$COLUMNS` says, else the terminal behind a descriptor.
    static func of(_ descriptor: Int32) -> Int {
        min(Terminal.saidColumns ?? Terminal.columns(of: descriptor) ?? usual, most)
    }
}
