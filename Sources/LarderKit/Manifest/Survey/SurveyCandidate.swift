import LarderCache

/// A place in an unknown manifest that may be the icons', and the entry's that goes with it.
struct SurveyCandidate {
    /// From the root.
    let entries: [ManifestPath.Segment]
    /// From an entry.
    let icon: [ManifestPath.Segment]
    let name: [ManifestPath.Segment]?
    /// How much it looks like one.
    let score: Int
    /// Whether it is a place of screenshots, banners and the like, which come after all icons,
    /// however many there are.
    private let isScreenshot: Bool
    private let icons: Int

    /// So many are told apart.
    private static let most = 256

    /// What a survey has found, the likeliest first.
    static func all(in survey: ManifestSurvey) -> [SurveyCandidate] {
        var found: [SurveyCandidate] = []
        var room = 25 * ManifestSurvey.mostPlaces
        survey.root.settle()
        collect(at: [], [survey.root], &room, &found)
        found.sort { one, other in
            guard one.isScreenshot == other.isScreenshot else { return other.isScreenshot }
            return (one.score, other.path.count) > (other.score, one.path.count)
        }
        // A place of a map and the same of one of its members are one.
        return found.filter { one in
            !found.contains { other in
                one.isPart(of: other) && other.icons > one.icons
                    || other.isPart(of: one) && other.icons == one.icons
            }
        }
    }

    private var path: [ManifestPath.Segment] { entries + icon }

    /// Whether it is the same place as `other`, with the names of members in place of any.
    private func isPart(of other: SurveyCandidate) -> Bool {
        path != other.path && path.count == other.path.count
            && zip(path, other.path).allSatisfy { own, theirs in
                own == theirs || theirs == .members && own != .elements
            }
    }

    /// - Parameters:
    ///   - places: those on the way along `path`, the root and the last included.
    ///   - room: how many places may be merged yet.
    private static func collect(
        at path: [ManifestPath.Segment], _ places: [SurveyedPlace], _ room: inout Int,
        _ found: inout [SurveyCandidate]
    ) {
        guard found.count < most, let place = places.last, place.iconsBeneath > 0 else { return }
        // What is mostly text is no place of icons.
        if place.icons > place.texts { found.append(SurveyCandidate(path, places)) }
        func go(to next: SurveyedPlace?, by segment: ManifestPath.Segment) {
            guard let next else { return }
            collect(at: path + [segment], places + [next], &room, &found)
        }
        go(to: place.elements, by: .elements)
        let map = place.map(&room)
        go(to: map, by: .members)
        for (name, member) in place.inOrder { go(to: member, by: .member(name)) }
    }

    /// The entry is what is there several times and has a name, the innermost; else the outermost
    /// dictionary that is there several times; else the value itself if that is; else the
    /// dictionary around it.
    private init(_ path: [ManifestPath.Segment], _ places: [SurveyedPlace]) {
        func isRepeated(_ length: Int) -> Bool {
            guard length > 0 else { return places[0].count > 1 }
            return [.elements, .members].contains(path[length - 1])
        }
        let leaf = places[path.count]
        let repeated = (0...path.count).filter(isRepeated)
        let dictionaries = repeated.filter { $0 < path.count && places[$0].dictionaries > 0 }
        let length =
            dictionaries.last { places[$0].namePath != nil } ?? dictionaries.first
            ?? (repeated.contains(path.count) ? path.count : max(0, path.count - 1))
        entries = Array(path.prefix(length))
        icon = Array(path.dropFirst(length))
        name = length < path.count ? places[length].namePath : nil
        icons = leaf.icons
        isScreenshot = leaf.likeness < 2 * leaf.icons
        // One on its own may be anything's: the list's, its publisher's.
        score =
            leaf.likeness * min(leaf.icons, max(1, places[length].count)) / leaf.icons
            * (repeated.isEmpty ? 1 : 4)
    }
}
