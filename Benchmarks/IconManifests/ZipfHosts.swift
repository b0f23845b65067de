/// Names of hosts, of which the second is half as frequent as the first, the third a third, and so
/// on, as hosts are in manifests. The same in every run.
struct ZipfHosts {
    /// How many names there are.
    let count: Int
    private let sums: [Double]

    init(count: Int) {
        self.count = count
        var sum = 0.0
        sums = (1...count).map { rank in
            sum += 1 / Double(rank)
            return sum
        }
    }

    /// The host of the icon with this number.
    func name(of number: Int) -> String {
        // The golden ratio's multiples fill the unit interval evenly, in an order that looks like
        // none.
        let share = (Double(number) * 0.618_033_988_749_895).truncatingRemainder(dividingBy: 1)
        let wanted = share * (sums.last ?? 0)
        return "h\(1 + (sums.firstIndex { $0 > wanted } ?? count - 1))"
    }
}
