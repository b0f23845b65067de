/// The median of several numbers, and how far they lie apart.
struct Spread {
    let median: Double
    let least: Double
    let most: Double

    /// Of at least one number.
    init(_ numbers: [Double]) {
        let sorted = numbers.sorted()
        let middle = sorted.count / 2
        median =
            sorted.count.isMultiple(of: 2)
            ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        least = sorted[0]
        most = sorted[sorted.count - 1]
    }

    func text(_ digits: Int) -> String { "\(least.fixed(digits))–\(most.fixed(digits))" }
}
