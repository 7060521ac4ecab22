// Starts `planish lsp` for C files, and gives it the settings below `planish`.
"use strict";

const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const NAMES = ["target", "fp", "threads", "measure", "sizes", "defines", "include_dirs"];
let client;

function readOptions() {
  const settings = workspace.getConfiguration("planish");
  return Object.fromEntries(NAMES.map((name) => [name, settings.get(name)]));
}

async function start() {
  // What runs is the user's choice alone: a folder that was opened cannot set it.
  const [command, ...args] = workspace.getConfiguration("planish").get("command");
  client = new LanguageClient("planish", "Planish", { command, args }, {
    documentSelector: [{ scheme: "file", language: "c" }],
    initializationOptions: readOptions(),
  });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(`Planish: ${command} cannot be started (${error.message}). Try: pip install 'planish[editor]'`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("planish.restart", async () => {
      await stop();
      await start();
    }),
    workspace.onDidChangeConfiguration((event) => {
      if (client && event.affectsConfiguration("planish"))
        client.sendNotification("workspace/didChangeConfiguration", { settings: { planish: readOptions() } });
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
