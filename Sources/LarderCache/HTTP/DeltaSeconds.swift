/// Whole seconds as `max-age` and `Age` state them (RFC 9111, section 1.2.2).
enum DeltaSeconds {
    /// What a larger number counts as: 68 years.
    static let maximum = 1 << 31

    /// The seconds that `text` states; nil if it is no sequence of digits.
    static func parse(_ text: some StringProtocol) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return min(Int(text) ?? maximum, maximum)
    }
}
