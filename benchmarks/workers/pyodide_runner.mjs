// pyodide under node: loadPyodide for fresh programs, one kept interpreter for cells.
// Speaks the same JSON lines as protocol.py; run as: node pyodide_runner.mjs FOLDER [fresh CODE]
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import path from "node:path";

const [folder, mode, code] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(folder), "index.js"));
const { loadPyodide } = require("pyodide");
const version = JSON.parse(
  readFileSync(path.join(folder, "node_modules/pyodide/package.json"), "utf8"),
).version;

async function open() {
  const shown = [];
  const python = await loadPyodide({
    stdout: (line) => shown.push(line),
    stderr: () => {},
    packageCacheDir: path.join(path.resolve(folder), "packages"),
  });
  return { python, shown };
}

async function run(session, source) {
  session.shown.length = 0;
  for (const name of ["numpy", "pandas"]) {
    if (source.includes(`import ${name}`)) {
      const silent = () => {};
      await session.python.loadPackage(name, { messageCallback: silent, errorCallback: silent });
      if (!session.python.loadedPackages[name]) {
        throw new Error(`its package ${name} could not be fetched from its CDN`);
      }
    }
  }
  const value = await session.python.runPythonAsync(source);
  if (value !== undefined) session.shown.push(String(value));
  return session.shown.join("\n");
}

let kept = null;

const handlers = {
  hello: async () => ({ versions: { pyodide: version, node: process.version } }),
  fresh: async ({ code: source }) => timed(async () => run(await open(), source)),
  open: async () => timed(async () => run((kept = await open()), "print(1+1)")),
  cell: async ({ code: source }) => {
    kept ??= await open();
    return timed(() => run(kept, source));
  },
  many: async ({ code: source, seconds, expect }) => {
    const started = performance.now();
    let count = 0;
    while (performance.now() - started < seconds * 1000) {
      const out = await run(await open(), source);
      if (out.trim() !== expect) throw new Error(`expected ${expect}, got ${out}`);
      count += 1;
    }
    return { count, seconds: (performance.now() - started) / 1000 };
  },
};

async function timed(call) {
  const started = performance.now();
  const out = await call();
  return { ms: performance.now() - started, out };
}

if (mode !== undefined) {
  const out = await run(await open(), code).catch((error) => {
    process.stderr.write(`Error: ${error.message}\n`);
    process.exit(1);
  });
  process.stdout.write(out.trim().replace(/\s+/g, " ") + "\n");
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let answer;
    try {
      const handler = handlers[request.do];
      answer = handler ? await handler(request) : { unsupported: `no ${request.do}` };
    } catch (error) {
      answer = { error: String(error.message ?? error).trim().split("\n").pop().slice(0, 500) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}
