import LarderCache

package struct ExportReport: Sendable {
    package var layout: ExportLayout
    package let directory: String
    package internal(set) var icons = 0
    package internal(set) var linked = 0
    package internal(set) var cloned = 0
    package internal(set) var copied = 0
    package internal(set) var resized = 0
    package internal(set) var unchanged = 0
    /// The number of icons with the same file name and bytes as an earlier icon.
    package internal(set) var duplicates = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var pruned = 0
    package internal(set) var problems = ItemFailures<ExportCode>()
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var skipped: Int { problems.skipped }
    package var failed: Int { problems.failed }
    package var unfinished: Int {
        icons - linked - cloned - copied - resized - unchanged - duplicates - skipped - failed
    }

    mutating func note(_ placement: Placement, bytes: Int64) {
        switch placement {
        case .linked: linked += 1
        case .cloned: cloned += 1
        case .copied: copied += 1
        case .resized: resized += 1
        case .unchanged: unchanged += 1
        }
        self.bytes += bytes
    }
}

/// The outcome of writing an icon. If its files have different outcomes, the last of them in this
/// list counts.
enum Placement: Int {
    case unchanged, linked, cloned, copied, resized
}

struct IconPlacement {
    private(set) var placement = Placement.unchanged
    private(set) var bytes: Int64 = 0

    mutating func add(_ placement: Placement, _ rendition: Rendition) {
        if placement.rawValue > self.placement.rawValue { self.placement = placement }
        if placement != .unchanged { bytes += rendition.size }
    }
}

protocol ExportedFiles {
    func begin(_ list: ExportList) throws
    func place(_ icon: [Rendition], _ stem: String) throws -> IconPlacement
    func location(of rendition: Rendition, _ stem: String) -> (FileDescriptor, String)?

    /// Writes the layout's index file. With `prune`, removes the files of icons that are not in
    /// `list`.
    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws
}
