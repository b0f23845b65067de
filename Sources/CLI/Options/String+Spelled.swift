import LarderCache
import LarderKit
import LarderTransfer

extension String {
    /// The ``ResourceKey`` that a user means: of an http or https URL, in any spelling and with or
    /// without credentials, that URL's; as `list --json` has it, `key:NAME` or `ni:…`; anything
    /// else is a manifest's key.
    static func spelled(_ text: String) -> String {
        if let url = try? HTTPURL(text) { return url.key }
        if let name = ResourceKey.name(in: text) { return ResourceKey.named(name.removingUserinfo) }
        return ResourceKey.isSpelledOut(text) ? text : ResourceKey.named(text.removingUserinfo)
    }
}
