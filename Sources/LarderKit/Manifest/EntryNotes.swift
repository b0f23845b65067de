import LarderCache

/// Counts of entries and their members, for messages about a manifest.
final class EntryNotes {
    /// The position of the entry that is read.
    var position = 0
    /// Members of another meaning than the plain form's, in the order of their first appearance.
    private(set) var ignored: [ManifestSummary.IgnoredMember] = []
    /// The number of entries that could not be read at all.
    private(set) var unreadable = 0
    /// The number of icons that can be fetched.
    private(set) var usable = 0
    /// The number of icons that cannot be used.
    private(set) var failed = 0
    /// The number of icons whose entry demands a digest or a size.
    private(set) var demands = 0
    /// The number of icons whose entry also has a package, which the digest may describe.
    private(set) var ambiguousDemands = 0

    /// The members that name a package.
    private static let packages = ["download", "url", "package"]

    /// Notes that a member is not used.
    func ignore(_ member: ManifestSummary.IgnoredMember.Name) {
        if let known = ignored.firstIndex(where: { $0.name == member }) {
            ignored[known].count += 1
        } else {
            ignored.append(.init(name: member, count: 1, position: position))
        }
    }

    func count(_ icons: [ManifestItem.Result], of content: Result<ManifestValue, EntryError>) {
        guard case .success(let element) = content else {
            unreadable += 1
            return
        }
        for icon in icons {
            let isDemanding: Bool
            switch icon {
            case .entry(let entry):
                isDemanding = entry.expectedDigest != nil || entry.expectedSize != nil
            case .inline(let entry):
                isDemanding = entry.expectedDigest != nil || entry.expectedSize != nil
            case .failed:
                failed += 1
                continue
            case .skipped: continue
            }
            usable += 1
            guard isDemanding else { continue }
            demands += 1
            guard case .dictionary(let members) = element else { continue }
            let hasPackage = members.contains { member in
                Self.packages.contains { $0.isSame(as: member.key) }
            }
            if hasPackage { ambiguousDemands += 1 }
        }
    }
}
