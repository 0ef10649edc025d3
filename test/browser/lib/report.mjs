// Figures measured on the way, printed at the end beside their limits.
export class Report {
  constructor() {
    this.lines = [];
  }

  figure(name, value, limit, unit = 'ms') {
    this.lines.push(`${name}: ${Math.round(value * 10) / 10} ${unit} (limit ${limit} ${unit})`);
    if (value > limit) throw new Error(`${name}: ${value} ${unit} is over ${limit} ${unit}`);
  }

  print() {
    if (this.lines.length) console.log(`\nMeasured:\n  ${this.lines.join('\n  ')}\n`);
  }
}
