// Starts the program under test on a recording.
import { spawn } from "node:child_process";
import { once } from "node:events";

/** Starts "ingero dashboard" on a recording and waits until it prints its address. */
export async function serve(ingero, file, { home, tls = false, token = "", baselines = [] }) {
  const args = ["dashboard", file, "--http", "127.0.0.1:0", ...(tls ? [] : ["--no-tls"]), ...baselines.flatMap((b) => ["--baseline", b])];
  const env = { ...process.env, HOME: home, SUDO_UID: "", SUDO_GID: "", INGERO_NODE_TOKEN: token };
  const child = spawn(ingero, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.setEncoding("utf8");
  let said = "";
  const url = await new Promise((found, fail) => {
    child.stderr.on("data", (text) => {
      said += text;
      const at = said.match(/ at (https?:\S+)\n/);
      if (at) found(at[1]);
    });
    child.once("error", fail);
    child.once("exit", (code) => fail(new Error(`${ingero} ${args.join(" ")} ended with ${code}: ${said}`)));
  });
  return {
    url,
    token,
    stop: async () => {
      if (child.exitCode !== null) throw new Error(`${ingero} has ended with ${child.exitCode}: ${said}`);
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      const [code] = await ended;
      if (code !== 0) throw new Error(`${ingero} ended with ${code}: ${said}`);
    },
  };
}

/** Starts "made -grow", waits until the file has data, and returns a function that ends it. */
export async function grow(made, file) {
  const child = spawn(made, ["-grow", file], { stdio: ["pipe", "pipe", "inherit"] });
  await Promise.race([once(child.stdout, "data"), once(child, "exit").then(([code]) => Promise.reject(new Error(`${made} ended with ${code}`)))]);
  return async () => {
    const ended = once(child, "exit");
    child.stdin.end();
    const [code] = await ended;
    if (code !== 0) throw new Error(`${made} ended with ${code}`);
  };
}
