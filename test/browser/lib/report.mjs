// Figures measured on the way, printed at the end beside their limits.
//
// A time is held against its limit only with SPEED=1, on a machine that does nothing else: beside other suites it says more
// of them than of the page. What takes ten times as long is no load any more but another design (something that is polled
// for, or waits), and fails everywhere. What is counted is the same everywhere.
const SLACK = process.env.SPEED ? 1 : 10;

export class Report {
  constructor() {
    this.lines = [];
  }

  /** Whether it is within what it is held to here. */
  fits(value, limit, unit = 'ms') {
    return value <= limit * (unit === 'ms' ? SLACK : 1);
  }

  figure(name, value, limit, unit = 'ms') {
    this.lines.push(`${name}: ${Math.round(value * 10) / 10} ${unit} (limit ${limit} ${unit})`);
    if (!this.fits(value, limit, unit)) throw new Error(`${name}: ${value} ${unit} is over ${limit} ${unit}`);
  }

  print() {
    if (this.lines.length) console.log(`\nMeasured:\n  ${this.lines.join('\n  ')}\n`);
  }
}
