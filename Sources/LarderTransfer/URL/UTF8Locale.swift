import Foundation

/// Runs code under a UTF-8 locale.
///
/// libcurl hands a host name to libidn2 in "the locale's encoding", which under `LC_ALL=C` cannot
/// hold `bücher.example`. Names here are UTF-8 whatever the user's locale, so the calling thread,
/// and no other, is told so for as long as the conversion takes: the process's locale is not a
/// library's to change.
enum UTF8Locale {
    // Unsafe to share as a pointer, and safe here because it is never changed or freed.
    private nonisolated(unsafe) static let locale: locale_t? = {
        let mask = Int32(LC_CTYPE_MASK)
        for name in ["C.UTF-8", "en_US.UTF-8", "UTF-8"] {
            if let locale = newlocale(mask, name, nil) { return locale }
        }
        return nil
    }()

    static func run<Result>(_ body: () -> Result) -> Result {
        guard let locale else { return body() }
        let previous = uselocale(locale)
        defer { _ = uselocale(previous) }
        return body()
    }
}
