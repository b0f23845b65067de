extension String {
    /// The text with its lines broken between words, so that none is wider if words allow. Lines
    /// that begin with a blank keep their indentation.
    ///
    /// - Parameters:
    ///   - indent: how many blanks precede each line. Default: 0.
    ///   - hanging: how many more precede the lines that a break makes. Default: 0.
    func wrapped(to width: Int, indent: Int = 0, hanging: Int = 0) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let own = line.prefix { $0 == " " }.count + indent
            var lines: [String] = []
            var current = String(repeating: " ", count: own)
            var isEmpty = true
            for word in line.split(separator: " ") {
                if !isEmpty, current.count + 1 + word.count > width {
                    lines.append(current)
                    current = String(repeating: " ", count: own + hanging)
                    isEmpty = true
                }
                current += (isEmpty ? "" : " ") + word
                isEmpty = false
            }
            return (lines + [isEmpty ? "" : current]).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
