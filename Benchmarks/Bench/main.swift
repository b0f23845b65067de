// Measures programs for Scripts/bench:
//
//     bench race SCENARIO ENTRIES ROUNDS < contenders >> samples
//     bench table < samples
//     bench bars TITLE < samples > figure.svg
//     bench curves TITLE < samples > figure.svg
//
// A line of `contenders` has the fields name, prepare, run and check, separated by tabs.

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

let arguments = Array(CommandLine.arguments[1...])

func lines() -> [String] {
    var lines: [String] = []
    while let line = readLine() { lines.append(line) }
    return lines
}

func fail(_ status: Int32, _ message: String) -> Never {
    _ = "bench: \(message)\n".withCString { write(STDERR_FILENO, $0, strlen($0)) }
    exit(status)
}

switch (arguments.first, arguments.count) {
case ("race", 4):
    guard let entries = Int(arguments[2]), let rounds = Int(arguments[3]) else {
        fail(64, "ENTRIES and ROUNDS must be numbers")
    }
    let race = Race(
        scenario: arguments[1], entries: entries, contenders: lines().compactMap(Contender.init))
    do {
        try race.run(rounds: rounds) { print($0.line) }
    } catch {
        fail(1, "\(arguments[1]): \(error)")
    }
case ("table", 1):
    for result in Result.all(of: lines().compactMap(Sample.init)) { print(result.table) }
case ("bars", 2):
    let results = Result.all(of: lines().compactMap(Sample.init))
    print(Bars(title: arguments[1], results: results).svg, terminator: "")
case ("curves", 2):
    let samples = lines().compactMap(Sample.init)
    print(Curves(title: arguments[1], samples: samples).svg, terminator: "")
default:
    fail(64, "usage: bench race SCENARIO ENTRIES ROUNDS | table | bars TITLE | curves TITLE")
}
