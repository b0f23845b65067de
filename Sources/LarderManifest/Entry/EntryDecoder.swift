import Foundation
import LarderCore

/// A decoder of entries. Like ``IconURLs``, it is a class, because copying the rules for each entry
/// takes 6 % of the time.
final class EntryDecoder {
    static let plainKeys = ["name", "icon", "priority", "integrity", "sha256", "size", "key"]

    let urls: IconURLs
    let paths: [ManifestPath]
    private let shape: ManifestShape
    private let ignored: IgnoredMembers
    private let keyed: KeyedIcons
    private let hasDescendants: Bool

    init(shape: ManifestShape, urls: IconURLs, ignored: IgnoredMembers, keyed: KeyedIcons) {
        (self.shape, self.urls, self.ignored, self.keyed) = (shape, urls, ignored, keyed)
        paths = shape.icons.map(\.path)
        hasDescendants = paths.contains(where: \.hasDescendants)
    }

    func decode(_ entry: RawEntry, at position: Int) -> [ManifestItem] {
        var item = ManifestItem(position: position, line: entry.line)
        do throws(EntryError) {
            let element = try entry.content.get()
            var members: [ManifestValue.Member] = []
            if case .dictionary(let own) = element {
                members = own
            } else if !(paths + (shape.template?.members ?? []))
                .contains(where: \.segments.isEmpty)
            {
                var reason = "expected a dictionary, found \(element.kind)"
                if case .string = element { reason += "; use --icon-key @ if strings are icons" }
                throw EntryError(.notADictionary, reason)
            }
            item.name = (name(of: element) ?? entry.key)?.shortenedName
            var found = try icons(of: element)
            if found.isEmpty, let template = shape.template {
                let text = ManifestValue.string(try template.filled(from: element))
                let place = ManifestShape.IconPlace(path: "@", target: .convention)
                found = [Icon(match: PathMatch(value: text), place: place)]
            }
            guard !found.isEmpty else { return [item] }
            let key = value(at: shape.key, in: element)
            let common = Common(
                position: position, line: entry.line, name: item.name, members: members,
                priority: try priority(value(at: shape.priority, in: element)),
                integrity: value(at: shape.integrity, in: element), isKeyed: key != .null,
                // A key can identify only one icon.
                key: found.count <= 1 ? self.key(key) : nil)
            return found.enumerated().map { self.item($0 + 1, with: $1, common) }
        } catch {
            item.result = .failed(error)
            return [item]
        }
    }

    private struct Common {
        let position: Int
        let line: Int?
        let name: String?
        let members: [ManifestValue.Member]
        let priority: Int
        let integrity: ManifestValue
        let isKeyed: Bool
        let key: String?
    }

    /// Returns all values at the icon paths in document order, including blank and unselected ones.
    func values(of element: ManifestValue) -> [IconValue] {
        let isKeyed = value(at: shape.key, in: element) != .null
        return places(in: element).prefix(ManifestLimits.maximumIcons).compactMap {
            $0.place.target == .convention ? nil : value(of: $0, isKeyed: isKeyed)
        }.sorted { $0.span.lowerBound < $1.span.lowerBound }
    }

    private func value(of icon: Icon, isKeyed: Bool) -> IconValue? {
        guard case .string(let text, let span) = icon.match.value else { return nil }
        return IconValue(
            text, at: span, isFileName: icon.place.template != nil || icon.isFile,
            isThemeName: icon.target == .theme, isKeyed: isKeyed)
    }

    private func item(_ number: Int, with icon: Icon, _ entry: Common) -> ManifestItem {
        var item = ManifestItem(
            position: entry.position, icon: number, line: entry.line, name: entry.name)
        if shape.isGroup, !icon.match.container.isEmpty {
            let container = ManifestValue.dictionary(icon.match.container)
            item.name = (name(of: container) ?? icon.match.wildcard)?.shortenedName ?? item.name
        }
        guard var value = value(of: icon, isKeyed: entry.isKeyed) else {
            let reason = "icon is \(icon.match.value.kind), not a string"
            item.result = .failed(EntryError(.iconNotAString, reason))
            return item
        }
        item.result = result(of: icon, value, entry, name: item.name ?? "")
        if let error = keyed.conflict(of: item.result, at: item.position) {
            item.result = .failed(error)
        }
        if case .unfetched = item.result {
            if value.kind == .relative, icon.mayBeInFolder {
                let file = IconURLs.file(value, icon, of: entry.members)
                let sized = icon.match.sizeFolder.map { ["\($0)/\(value.text)"] } ?? []
                value.files = file.map { [$0] } ?? sized + [value.text]
            }
        } else if icon.target == .convention {
            // A built URL is not in the manifest. It is kept only to explain why it is not fetched.
            return item
        }
        item.value = value
        return item
    }

    private func result(
        of icon: Icon, _ value: IconValue, _ entry: Common, name: String
    ) -> ManifestItem.Result {
        do throws(EntryError) {
            switch try urls.target(value, icon, of: entry.members) {
            case .unfetched(let kind): return .unfetched(kind)
            case .remote(let url, let text):
                return .entry(
                    Entry(
                        name: name, icon: url, priority: entry.priority,
                        expectation: try expectation(of: icon, entry), key: entry.key,
                        writtenSpelling: text?.isSame(as: url.string) == true ? nil : text))
            case .inline(let bytes):
                return .inline(
                    InlineEntry(
                        name: name, bytes: bytes, priority: entry.priority,
                        expectation: try expectation(of: icon, entry), key: entry.key))
            }
        } catch {
            return .failed(error)
        }
    }

    private func value(at path: ManifestPath?, in element: ManifestValue) -> ManifestValue {
        path?.first(in: element) ?? .null
    }

    /// Accepts a number as a name, because names are only displayed.
    private func name(of element: ManifestValue) -> String? {
        for path in shape.names {
            switch path.first(in: element) {
            case .string(let text, _)?: return text
            case .integer(let number)?: return String(number)
            default: continue
            }
        }
        return nil
    }

    struct Icon {
        let match: PathMatch
        let place: ManifestShape.IconPlace

        var isFile: Bool { target == .file }

        /// Whether a folder may contain the icon. AppStream installs local icons with packages.
        var mayBeInFolder: Bool {
            if place.target == .convention { return place.template != nil }
            guard place.target == .typed, let type else { return true }
            return !["remote", "local"].contains { type.isSame(as: $0) }
        }

        private var type: String? { text("@type") }

        /// Whether `medium`, or else `type`, or else the file name indicates an image.
        var isImage: Bool {
            if let kind = text("@medium") ?? type { return kind.begins(with: "image") }
            guard case .string(let url, _) = match.value else { return false }
            return IconLikeness.likeness(of: url, rank: nil) > 0
        }

        private func text(_ attribute: String) -> String? {
            if case .string(let text, _)? = match.container[attribute] { text } else { nil }
        }

        var target: ManifestShape.IconPlace.Target {
            guard place.target == .typed, let type else { return place.target }
            return type.isSame(as: "remote")
                ? .remote : type.isSame(as: "stock") ? .theme : .file
        }
    }

    private func icons(of element: ManifestValue) throws(EntryError) -> [Icon] {
        var found = places(in: element)
        guard found.count <= ManifestLimits.maximumIcons else {
            throw EntryError(
                .tooLarge, "the entry has more than \(ManifestLimits.maximumIcons) icons")
        }
        found.removeAll { $0.match.value.isBlank || leads($0.place.path, into: $0.match.value) }
        if found.first?.place.target != .convention {
            found.removeAll { $0.place.target == .convention }
        }
        // The icons of a group belong to different apps, so all are used.
        guard found.count > 1, !shape.isGroup else { return found }
        switch urls.rules.icons {
        case .all: return found
        case .first: return [found[0]]
        case .largest: return [found.max { $0.match.pixels < $1.match.pixels }!]
        case .smallest: return [found.min { $0.match.pixels < $1.match.pixels }!]
        }
    }

    /// Returns at most one icon more than permitted, so that the caller can detect an excess.
    private func places(in element: ManifestValue) -> [Icon] {
        var found: [Icon] = []
        var starts = Set<Int>()
        for place in shape.icons {
            let limit = ManifestLimits.maximumIcons + 1 - found.count
            for match in place.path.matches(in: element, limit: limit) {
                // A path with `..` can lead to the same value as another path.
                if hasDescendants, case .string(_, let span) = match.value, span != .unknown,
                    !starts.insert(span.bytes.lowerBound).inserted
                {
                    continue
                }
                let icon = Icon(match: match, place: place)
                if place.target != .image || icon.isImage { found.append(icon) }
            }
        }
        return found
    }

    /// Whether another path selects icons inside the value, as in DEP-11.
    private func leads(_ path: ManifestPath, into value: ManifestValue) -> Bool {
        switch value {
        case .array, .dictionary:
            path.hasDescendants
                || shape.icons.contains {
                    $0.path.segments.count > path.segments.count
                        && $0.path.segments.starts(with: path.segments)
                }
        default: false
        }
    }

    private func priority(_ value: ManifestValue) throws(EntryError) -> Int {
        if value == .null { return 0 }
        if case .string(let text, _) = value {
            let name = PriorityName.allCases.first { text.isSame(as: $0.rawValue) }
            if let name { return name.value }
            if shape.priority?.isXML == true, let integer = Int(text) { return integer }
        }
        if let integer = value.exactInteger { return integer }
        guard urls.rules.priorityKey != nil else {
            ignored.add(.priority)
            return 0
        }
        throw EntryError(
            .badPriority,
            "priority is \(value.shown); expected an integer or "
                + PriorityName.allCases.map(\.rawValue).joined(separator: ", "))
    }

    private func expectation(of icon: Icon, _ entry: Common) throws(EntryError) -> Expectation {
        let siblings = shape.hasDigests ? icon.match.container : []
        let sha256 = digestText(shape.digestKey, in: siblings)
        let digest =
            entry.integrity == .null
            ? try siblingDigest(of: icon, in: siblings, sha256: sha256)
            : try self.digest(integrity: entry.integrity, sha256: sha256)
        return Expectation(digest: digest, size: size(siblings["size"] ?? .null))
    }

    private func siblingDigest(
        of icon: Icon, in siblings: [ManifestValue.Member], sha256: ManifestValue
    ) throws(EntryError) -> Digest? {
        do {
            return try digest(integrity: digestText(.integrity, in: siblings), sha256: sha256)
        } catch {
            throw EntryError(
                error.code,
                "\(error.message); if the digest is not the icon's,"
                    + " use --icon-key \("\(icon.place.path)".shellQuoted) to ignore it")
        }
    }

    private func digestText(
        _ name: ManifestSummary.IgnoredMember.Name, in siblings: [ManifestValue.Member]
    ) -> ManifestValue {
        let value = siblings[name.rawValue] ?? .null
        if case .string = value, !value.isBlank { return value }
        if value == .null || value == .invalidText { return value }
        ignored.add(name)
        return .null
    }

    private func digest(
        integrity: ManifestValue, sha256: ManifestValue
    ) throws(EntryError) -> Digest? {
        let fromList = try digest(integrity: integrity)
        guard sha256 != .null else { return fromList }
        guard case .string(let hex, _) = sha256, let digest = Digest(hex: hex) else {
            throw EntryError(
                .badIntegrity,
                "\(shape.digestKey.rawValue) is \(sha256.shown); expected 64 hexadecimal digits")
        }
        guard fromList == nil || fromList == digest
        else { throw EntryError(.badIntegrity, "integrity and sha256 are different digests") }
        return digest
    }

    /// Parses a list of `<algorithm>-<base64>[?<options>]` (Subresource Integrity, section 3.5).
    /// Accepts only one SHA-256 digest, although W3C allows several. Returns nil for an empty list.
    private func digest(integrity value: ManifestValue) throws(EntryError) -> Digest? {
        guard value != .null else { return nil }
        guard case .string(let list, _) = value
        else { throw EntryError(.badIntegrity, "integrity is \(value.kind), not a string") }
        if shape.integrity != nil, let digest = Digest(hex: list) { return digest }
        var found: Digest?
        let items = list.utf8.split(whereSeparator: \.isSpace)
        for item in items where item.starts(with: "sha256-".utf8) {
            let base64 = item.dropFirst("sha256-".utf8.count).prefix { $0 != UInt8(ascii: "?") }
            guard let bytes = Data(base64Encoded: Data(base64)), let digest = Digest(bytes: bytes)
            else {
                throw EntryError(
                    .badIntegrity,
                    "integrity is \(String(Substring(item)).quoted()); expected 32 bytes in base64")
            }
            guard found == nil || found == digest
            else { throw EntryError(.badIntegrity, "integrity has more than one SHA-256 digest") }
            found = digest
        }
        guard found != nil || items.isEmpty
        else { throw EntryError(.badIntegrity, "integrity \(list.quoted()) has no SHA-256 digest") }
        return found
    }

    /// Returns the size in bytes. Ignores other values, such as image dimensions.
    private func size(_ value: ManifestValue) -> Int64? {
        let size = value.exactInteger.flatMap { $0 >= 0 ? Int64($0) : nil }
        if size == nil, value != .null { ignored.add(.size) }
        return size
    }

    /// Returns the key without credentials. Ignores a key with a null byte, which ends a C string.
    private func key(_ value: ManifestValue) -> String? {
        guard value != .null else { return nil }
        guard case .string(let key, _) = value, key.utf8.count <= ManifestLimits.maximumURLSize,
            !key.utf8.contains(0)
        else {
            ignored.add(.key)
            return nil
        }
        return key.removingUserinfo
    }
}

extension String {
    fileprivate var shortenedName: String {
        if utf8.count <= ManifestLimits.maximumNameSize, !utf8.holds("\0") { return self }
        var size = 0
        let beginning = unicodeScalars.prefix { scalar in
            size += UTF8.width(scalar)
            return size <= ManifestLimits.maximumNameSize
        }
        return String(beginning).replacing("\0", with: "\u{FFFD}")  // text: short
    }
}

extension ManifestValue {
    /// Accepts `4.0` as an integer, because some formats have no integers.
    fileprivate var exactInteger: Int? {
        switch self {
        case .integer(let integer): integer
        case .double(let double): Int(exactly: double)
        default: nil
        }
    }

    fileprivate var shown: String {
        switch self {
        case .integer(let integer): String(integer)
        case .double(let double): String(double)
        case .string(let text, _): text.quoted()
        default: kind
        }
    }
}

final class IgnoredMembers {
    var position = 0
    private(set) var all: [ManifestSummary.IgnoredMember] = []

    func add(_ member: ManifestSummary.IgnoredMember.Name) {
        if let known = all.firstIndex(where: { $0.name == member }) {
            all[known].count += 1
        } else {
            all.append(.init(name: member, count: 1, position: position))
        }
    }
}

extension PathMatch {
    /// The icon's width in pixels, or 0 if unknown. Uses the first of these that exists: `sizes`
    /// as in a web app manifest (`any` is the largest), `width`, `attributes.height` as in Apple's
    /// feeds, and the digits in a name such as `artworkUrl512`.
    var pixels: Int {
        if case .string(let sizes, _) = container["sizes"] ?? container["@sizes"] {
            return sizes.utf8.split(whereSeparator: \.isSpace).reduce(0) { largest, size in
                size.isWord("any") ? .max : max(largest, Self.firstNumber(in: size))
            }
        }
        if let width = Self.number(container["width"] ?? container["@width"]) { return width }
        if case .dictionary(let attributes) = container["attributes"],
            let height = Self.number(attributes["height"])
        {
            return height
        }
        return Self.firstNumber(in: key.utf8)
    }

    /// The folder for icons of this size, such as `128x128@2` in AppStream's cache.
    var sizeFolder: String? {
        func number(_ name: String) -> Int? {
            Self.number(container[name] ?? container["@\(name)"])
        }
        guard let width = number("width"), let height = number("height") else { return nil }
        let scale = number("scale") ?? 1
        return "\(width)x\(height)" + (scale > 1 ? "@\(scale)" : "")
    }

    private static func number(_ value: ManifestValue?) -> Int? {
        switch value {
        case .integer(let number) where number > 0: number
        case .double(let number): Int(exactly: number.rounded(.down))
        case .string(let text, _): Int(text)
        default: nil
        }
    }

    private static func firstNumber(in text: some Collection<UInt8>) -> Int {
        let digits = text.drop { !$0.isDigit }.prefix(while: \.isDigit)
        return Int(String(decoding: digits.prefix(9), as: UTF8.self)) ?? 0
    }
}
