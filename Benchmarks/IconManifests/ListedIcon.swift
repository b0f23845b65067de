import Foundation

struct ListedIcon {
    let name: String
    let url: String
    /// The unique path at which a peer stores the icon.
    let file: String

    /// - Parameter base: The origin's URL. `{host}` is replaced by `host`.
    init(path: String, base: String, host: String) {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        name = String(path.split(separator: "/").last ?? "")
        url = "\(base.replacingOccurrences(of: "{host}", with: host))/\(escaped)"
        file = path
    }

    /// A repetition of an icon, with a unique query.
    init(_ icon: ListedIcon, round: Int) {
        name = icon.name
        url = round == 0 ? icon.url : "\(icon.url)?n=\(round)"
        file = round == 0 ? icon.file : "\(round)/\(icon.file)"
    }
}

/// Host names with a Zipf distribution, as in real manifests: the name of rank n is 1/n times as
/// frequent as the first name. The names are the same in every run.
struct ZipfHosts {
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

    func name(of number: Int) -> String {
        // Multiples of the golden ratio fill the unit interval evenly, in mixed order.
        let share = (Double(number) * 0.618_033_988_749_895).truncatingRemainder(dividingBy: 1)
        let wanted = share * (sums.last ?? 0)
        return "h\(1 + (sums.firstIndex { $0 > wanted } ?? count - 1))"
    }
}
