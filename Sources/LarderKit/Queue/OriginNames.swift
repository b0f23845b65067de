/// The numbers of origins: the plan's own, then those that redirects lead to.
struct OriginNames {
    private let planned: [String]
    private var others: [String] = []
    private var numbers: [String: Int] = [:]

    init(_ planned: [String]) {
        self.planned = planned
        numbers.reserveCapacity(planned.count)
        for (number, origin) in planned.enumerated() { numbers[origin] = number }
    }

    /// Takes in an origin that has no number yet.
    mutating func number(of origin: String) -> Int {
        if let known = numbers[origin] { return known }
        let number = numbers.count
        numbers[origin] = number
        others.append(origin)
        return number
    }

    func isNumber(_ number: Int, of origin: String) -> Bool { numbers[origin] == number }

    subscript(number: Int) -> String {
        number < planned.count ? planned[number] : others[number - planned.count]
    }
}
