@testable import LarderManifest

extension ManifestValue {
    /// The value with ``SourceSpan/unknown`` instead of all spans.
    var withoutSpans: ManifestValue {
        switch self {
        case .string(let text, _): .string(text)
        case .array(let elements): .array(elements.map(\.withoutSpans))
        case .dictionary(let members):
            .dictionary(members.map { .init(key: $0.key, value: $0.value.withoutSpans) })
        case .null, .bool, .integer, .double, .opaque: self
        }
    }
}
