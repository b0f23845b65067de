/// Environment variables and files that commands read, for the manual.
struct Surroundings {
    let name: String
    let meaning: String
    /// The option that commands have which read it; nil: all do.
    let option: String?

    /// A rehearsal's cache is no other command's.
    private static let withoutDefaultCache = "rehearse"

    static let environment = [
        Surroundings(
            name: "LARDER_CACHE", meaning: "The cache directory, if --cache is not given.",
            option: "--cache"),
        Surroundings(
            name: "XDG_CACHE_HOME",
            meaning: "The directory of larder/, if neither --cache nor LARDER_CACHE names another.",
            option: "--cache"),
        Surroundings(
            name: "http_proxy, https_proxy, all_proxy, no_proxy",
            meaning: "The proxies to use, and the hosts that are reached without one.",
            option: "--proxy"),
        Surroundings(
            name: "NETRC", meaning: "The file that --netrc reads instead of ~/.netrc.",
            option: "--netrc"),
        Surroundings(
            name: "COLUMNS", meaning: "The width of help and messages, if not the terminal's.",
            option: nil),
    ]

    static let files = [
        Surroundings(
            name: "~/.cache/larder, ~/Library/Caches/larder",
            meaning: "The cache directory by default, on Linux and on macOS.", option: "--cache"),
        Surroundings(
            name: "~/.netrc", meaning: "User names and passwords, with --netrc.",
            option: "--netrc"),
    ]

    /// Whether it matters to a command.
    func matters(to command: CommandInfo) -> Bool {
        if option == "--cache", command.name == Self.withoutDefaultCache { return false }
        return option.map { command.option($0) != nil } ?? true
    }
}
