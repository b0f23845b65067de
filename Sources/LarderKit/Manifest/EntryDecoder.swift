import Foundation
import LarderCache
import LarderTransfer

/// Gives the keys of an element their meaning.
struct EntryDecoder {
    /// The keys that have one.
    static let keys: Set = ["name", "icon", "priority", "integrity", "sha256", "size", "key"]

    let baseURL: HTTPURL?

    /// The element's name, where it can be read, and what the element is.
    func decode(_ element: ManifestValue) -> (name: String?, result: ManifestItem.Result) {
        guard case .dictionary(let members) = element else {
            let reason = "\(element.kind) where a dictionary is due"
            return (nil, .failed(EntryError(code: .notADictionary, message: reason)))
        }
        var fields = Fields()
        for member in members { fields.take(member) }
        do throws(EntryError) {
            guard let icon = try icon(fields.icon) else {
                return (fields.name, .skipped("no icon"))
            }
            let entry = Entry(
                name: fields.name ?? "", icon: icon, priority: try priority(fields.priority),
                expectedDigest: try digest(integrity: fields.integrity, sha256: fields.sha256),
                expectedSize: try size(fields.size), key: try key(fields.key))
            return (fields.name, .entry(entry))
        } catch {
            return (fields.name, .failed(error))
        }
    }

    /// The members with a meaning; null is as good as absent, and the last of several counts.
    private struct Fields {
        var name: String?
        var icon = ManifestValue.null
        var priority = ManifestValue.null
        var integrity = ManifestValue.null
        var sha256 = ManifestValue.null
        var size = ManifestValue.null
        var key = ManifestValue.null

        mutating func take(_ member: ManifestValue.Member) {
            switch member.key {
            // A name is only shown: a number will do, and what is no text does no harm.
            case "name":
                switch member.value {
                case .string(let text): name = text
                case .integer(let number): name = String(number)
                default: name = nil
                }
            case "icon": icon = member.value
            case "priority": priority = member.value
            case "integrity": integrity = member.value
            case "sha256": sha256 = member.value
            case "size": size = member.value
            case "key": key = member.value
            default: break
            }
        }
    }

    /// Nil if there is no icon: no key, null, or a blank string.
    private func icon(_ value: ManifestValue) throws(EntryError) -> HTTPURL? {
        guard value != .null else { return nil }
        guard case .string(let text) = value else {
            throw EntryError(code: .iconNotAString, message: "icon is \(value.kind), not a string")
        }
        guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
            return nil
        }
        do {
            return try HTTPURL(text, relativeTo: baseURL)
        } catch {
            throw iconError(error, text)
        }
    }

    private func iconError(_ error: HTTPURL.ParseError, _ text: String) -> EntryError {
        switch error {
        case .unsupportedScheme(let scheme):
            EntryError(
                code: .unsupportedScheme,
                message: "icon has the scheme \(scheme.quoted(limit: 20)):"
                    + " only http and https are fetched")
        case .relativeWithoutBase:
            EntryError(
                code: .relativeURL,
                message:
                    "icon \(text.maskingUserinfo.quoted()) has no scheme, and there is no base URL")
        case .malformed(let problem):
            EntryError(
                code: .unparsableURL,
                message:
                    "icon \(text.maskingUserinfo.quoted()) is not a URL: \(problem.sanitizedForTerminal)"
            )
        }
    }

    /// The names and values of Foundation's `Operation.QueuePriority`, or an integer.
    private func priority(_ value: ManifestValue) throws(EntryError) -> Int {
        switch value {
        case .null: return 0
        case .string("veryLow"): return -8
        case .string("low"): return -4
        case .string("normal"): return 0
        case .string("high"): return 4
        case .string("veryHigh"): return 8
        default: break
        }
        if let integer = value.exactInteger { return integer }
        throw EntryError(
            code: .badPriority,
            message: "priority is \(value.shown):"
                + " an integer, veryLow, low, normal, high or veryHigh is due")
    }

    /// The digest of Subresource Integrity's `integrity` or of `sha256` in hexadecimal digits; nil
    /// if there is neither.
    private func digest(
        integrity: ManifestValue, sha256: ManifestValue
    ) throws(EntryError) -> Digest? {
        let fromList = try digest(integrity: integrity)
        guard sha256 != .null else { return fromList }
        guard case .string(let hex) = sha256, let digest = Digest(hex: hex) else {
            throw EntryError(
                code: .badIntegrity,
                message: "sha256 is \(sha256.shown): 64 hexadecimal digits are due")
        }
        guard fromList == nil || fromList == digest else {
            throw EntryError(
                code: .badIntegrity, message: "integrity and sha256 name different digests")
        }
        return digest
    }

    /// W3C Subresource Integrity, section 3.5: `<algorithm>-<base64>[?<options>]`, separated by
    /// white space. Nil for an empty list. Where SRI takes any of several digests of one
    /// algorithm, an entry can have just one.
    private func digest(integrity value: ManifestValue) throws(EntryError) -> Digest? {
        guard value != .null else { return nil }
        guard case .string(let list) = value else {
            throw EntryError(
                code: .badIntegrity, message: "integrity is \(value.kind), not a string")
        }
        var found: Digest?
        let items = list.split { $0.isWhitespace }
        for item in items where item.hasPrefix("sha256-") {
            let base64 = String(item.dropFirst("sha256-".count).prefix { $0 != "?" })
            guard let bytes = Data(base64Encoded: base64), let digest = Digest(bytes: bytes) else {
                throw EntryError(
                    code: .badIntegrity,
                    message: "integrity \(String(item).quoted()): 32 bytes in base64 are due")
            }
            guard found == nil || found == digest else {
                throw EntryError(
                    code: .badIntegrity, message: "integrity names more than one SHA-256 digest")
            }
            found = digest
        }
        guard found != nil || items.isEmpty else {
            throw EntryError(
                code: .badIntegrity, message: "integrity \(list.quoted()) names no SHA-256 digest")
        }
        return found
    }

    private func size(_ value: ManifestValue) throws(EntryError) -> Int64? {
        guard value != .null else { return nil }
        guard let size = value.exactInteger, size >= 0 else {
            throw EntryError(
                code: .badSize, message: "size is \(value.shown): a byte count is due")
        }
        return Int64(size)
    }

    /// Nil for an empty string, which could identify nothing. Where it is a URL with credentials,
    /// the key is the URL without them.
    private func key(_ value: ManifestValue) throws(EntryError) -> String? {
        switch value {
        case .null, .string(""): return nil
        case .string(let key): return key.removingUserinfo
        default:
            throw EntryError(code: .badKey, message: "key is \(value.kind), not a string")
        }
    }
}

extension ManifestValue {
    /// The value as an integer, also where a format has no integers of its own, as in `4.0`.
    fileprivate var exactInteger: Int? {
        switch self {
        case .integer(let integer): integer
        case .double(let double): Int(exactly: double)
        default: nil
        }
    }

    /// The value as a message shows it.
    fileprivate var shown: String {
        switch self {
        case .integer(let integer): String(integer)
        case .double(let double): String(double)
        case .string(let text): text.quoted()
        default: kind
        }
    }
}
