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

    /// Counts an icon. If its files have different outcomes, the last of ``Placement`` counts.
    mutating func note(_ files: [PlacedFile]) {
        for file in files where file.placement != .unchanged { bytes += file.size }
        switch files.map({ $0.placement }).max() {
        case .linked: linked += 1
        case .cloned: cloned += 1
        case .copied: copied += 1
        case .resized: resized += 1
        case .unchanged, nil: unchanged += 1
        }
    }
}

enum Placement: Comparable {
    case unchanged, linked, cloned, copied, resized
}

typealias PlacedFile = (placement: Placement, size: Int64)

protocol ExportedFiles {
    func begin(_ list: ExportList) throws
    func place(_ icon: [Rendition], _ stem: String) throws -> [PlacedFile]
    func location(of rendition: Rendition, _ stem: String) -> (FileDescriptor, String)?

    /// Writes the layout's index file. With `prune`, removes the files of icons not in `list`.
    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws
}
