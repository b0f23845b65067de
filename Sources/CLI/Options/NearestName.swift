/// Which of several names a misspelled one may stand for.
enum NearestName {
    /// What a message ends with, such as `. Did you mean 'evict'?`; nothing if no name is near.
    ///
    /// - Parameter lead: what all names begin with, and `name` and `known` do not have.
    static func hint(for name: String, among known: [String], lead: String = "") -> String {
        suggestion(for: name, among: known).map { ". Did you mean '\(lead)\($0)'?" } ?? ""
    }

    /// The nearest within a mistake for every three letters, else the only one that has the word in
    /// it, as `fetch` is in `prefetch`.
    private static func suggestion(for name: String, among known: [String]) -> String? {
        let word = Array(name.lowercased().utf8)
        // Longer than any name, and bounded for what is quadratic.
        guard word.count <= 40 else { return nil }
        let near = known.map { ($0, mistakes(in: word, for: Array($0.utf8))) }
            .filter { $1 <= max(1, min($0.utf8.count, word.count) / 3) }
            .min { $0.1 < $1.1 }
        if let near { return near.0 }
        let holders = known.filter { word.count >= 3 && $0.contains(name.lowercased()) }
        return holders.count == 1 ? holders[0] : nil
    }

    /// How many letters are wrong, too many, missing or swapped with the next: the optimal string
    /// alignment distance.
    private static func mistakes(in word: [UInt8], for name: [UInt8]) -> Int {
        var (last, row) = ([Int](), Array(0...name.count))
        for (i, letter) in word.enumerated() {
            var next = [i + 1]
            for (j, wanted) in name.enumerated() {
                var least = min(row[j] + (letter == wanted ? 0 : 1), row[j + 1] + 1, next[j] + 1)
                if i > 0, j > 0, letter == name[j - 1], word[i - 1] == wanted {
                    least = min(least, last[j - 1] + 1)
                }
                next.append(least)
            }
            (last, row) = (row, next)
        }
        return row[name.count]
    }
}
