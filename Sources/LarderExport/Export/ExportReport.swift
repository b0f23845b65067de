import LarderCache

package struct ExportReport: Sendable {
    package var layout: ExportLayout
    package let directory: String
    package internal(set) var icons = 0
    package internal(set) var linked = 0
    package internal(set) var cloned = 0
    package internal(set) var copied = 0
    package internal(set) var unchanged = 0
    /// The number of icons with the same file name and bytes as another icon.
    package internal(set) var duplicates = 0
    package internal(set) var bytes: Int64 = 0
    package internal(set) var pruned = 0
    package internal(set) var problems = IconFailures<ExportCode>()
    package internal(set) var isInterrupted = false
    package internal(set) var seconds: Double = 0

    package var skipped: Int { problems.skipped }
    package var failed: Int { problems.failed }
    package var unfinished: Int {
        icons - linked - cloned - copied - unchanged - duplicates - skipped - failed
    }

    mutating func note(_ placement: Placement, bytes: Int64) {
        switch placement {
        case .linked: linked += 1
        case .cloned: cloned += 1
        case .copied: copied += 1
        case .unchanged: unchanged += 1
        }
        if placement != .unchanged { self.bytes += bytes }
    }
}

enum Placement {
    case linked, cloned, copied, unchanged
}

protocol ExportedFiles {
    func begin(_ list: ExportList) throws
    func place(_ object: StoredObject, _ stem: String) throws -> Placement

    /// Writes the layout's index file. With `prune`, removes the files of unlisted icons.
    func finish(_ list: ExportList, prune: Bool, _ report: inout ExportReport) throws
}
