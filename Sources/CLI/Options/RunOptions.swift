import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderPrefetch
import Logging
import Synchronization

struct RunOptions: ParsableArguments {
    @OptionGroup var cache: CacheOptions

    @Flag(help: "Print the report as one JSON object.") var json = false

    @Flag(name: .shortAndLong, help: "Print nothing, or one line if there is a problem.")
    var quiet = false

    func write(json: JSONObject, text: @autoclosure () -> String, complaint: String?) {
        Console.statusLine.clear()
        if self.json { print(json.text) } else if !quiet { print(text()) }
        if quiet, let complaint { Console.complain(complaint) }
    }
}

enum ColorChoice: String, ExpressibleByArgument, CaseIterable {
    case auto, always, never

    var output: Paint { paint(STDOUT_FILENO) }
    var errors: Paint { paint(STDERR_FILENO) }

    private func paint(_ descriptor: Int32) -> Paint {
        switch self {
        case .always: Paint(isOn: true)
        case .never: .none
        case .auto: Paint(isOn: Terminal.wantsColor(isatty(descriptor) == 1))
        }
    }
}

enum Log {
    static let level = Mutex<Logger.Level?>(nil)

    static func logger(_ label: String = "larder") -> Logger? {
        level.withLock { $0 }.map { level in
            Logger(label: label) { ConsoleLog(label: $0, logLevel: level) }
        }
    }

    static var cache: CacheLog { CacheLog(logger("larder.cache")) }
}

private struct ConsoleLog: LogHandler {
    let label: String
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = metadata.merging(event.metadata ?? [:]) { $1 }
            .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let text = "\(UTCTime.timestamp(Date())) \(event.level) \(label): \(event.message)\(values)"
        Console.write(text.sanitizedForTerminal + "\n")
    }
}
