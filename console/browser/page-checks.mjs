// What each page must say: name, address, and a check that waits for it.

const sees = async (page, ...texts) => {
  for (const text of texts) await page.getByText(text).first().waitFor();
};

const never = async (page, text) => {
  if ((await page.locator("body").innerText()).includes(text)) throw new Error(`the page says ${text}`);
};

export const pages = [
  [
    "overview",
    "/",
    async (page) => {
      await sees(page, "free of 48", "largest free block", "no node has 8 free GPUs", "ran out of memory", "8 nodes, 2 not taking pods");
      await sees(page, "<img src=x onerror=alert(1)>"); // markup in a message or a name is text
      await page.getByRole("region", { name: "Running jobs" }).getByRole("row", { name: /bert-large-pretrain mei.lin 16 33.3 %/ }).waitFor();
      const holders = page.getByRole("region", { name: "Who holds the GPUs" });
      await holders.getByRole("row", { name: /bert-large-pretrain mei.lin 16 33.3 %/ }).waitFor();
      await page.getByRole("button", { name: "Team" }).click();
      await holders.getByRole("row", { name: /^nlp \d+ / }).waitFor();
      await page.getByRole("button", { name: "User" }).click();
      await holders.getByRole("row", { name: /^mei.lin \d+ / }).waitFor();
      await page.getByRole("row", { name: /priya.n 7/ }).waitFor();
      await page.getByRole("button", { name: "Last 30 days" }).click();
      await page.getByRole("row", { name: /priya.n 12/ }).waitFor();
      if (!page.url().endsWith("?range=30d")) throw new Error(`the range is not in the address: ${page.url()}`);
      await never(page, "of-others");
      await page.keyboard.press("g");
      await page.keyboard.press("j");
      await page.getByRole("heading", { name: "Jobs" }).waitFor();
      await page.goBack();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      await sees(page, "free of 48");
    },
  ],
  [
    "nodes",
    "/nodes",
    async (page) => {
      await page.getByRole("row", { name: /a100-04.*4 of 8 free.*vit-g14-finetune 2.*others 2/ }).waitFor();
      await page.getByRole("row", { name: /a100-05 cordoned/ }).waitFor();
      await page.getByRole("row", { name: /a100-06 not ready/ }).waitFor();
      await never(page, "of-others");
      await page.getByLabel("Search").fill("cpu");
      await sees(page, "2 of 2");
      await page.getByLabel("Search").fill("nothing-like-it");
      await sees(page, "No node has this in its name.");
      await page.getByLabel("Search").fill("");
      await sees(page, "8 of 8");
    },
  ],
  [
    "node",
    "/nodes/a100-04",
    async (page) => {
      await page.getByRole("row", { name: /vit-g14-finetune-worker-1 Running vision/ }).waitFor();
      await sees(page, "Hidden from you: 1", "Conditions");
      await never(page, "of-others");
    },
  ],
  [
    "queues",
    "/queues",
    async (page) => {
      await sees(page, "28 of 32, 4 borrowed", "stopped: nothing in it is admitted", "shares with company");
      await page.getByRole("row", { name: /gpus of research-and-nlp 1 nlp.*llama3-70b-lora 16 GPUs.*insufficient unused quota/ }).waitFor();
      await page.getByRole("row", { name: /gpus of research-and-nlp 3 research/ }).waitFor(); // the second is hidden
      await never(page, "of-others");
    },
  ],
  [
    "models",
    "/models",
    async (page) => {
      await page.getByRole("row", { name: /nlp . llama3-8b-sft .*llama3-8b-sft-v3 3 support-chat/ }).waitFor();
      await sees(page, "<img src=x onerror=alert(1)>", "list models.model.kubedl.io");
      await never(page, "of-others");
      await page.getByLabel("Search").fill("vit");
      await sees(page, "1 shown");
      await page.getByLabel("Search").fill("");
      await sees(page, "3 shown");
    },
  ],
  [
    "model",
    "/models/nlp/llama3-8b-sft",
    async (page) => {
      await sees(page, "answers with v3 (25 %, canary) and v2 (75 %), trained by mei.lin, from 2 commits, one data set and 2 base models.");
      await sees(page, "b3b3b3b3b3b3", "quota reached", "sft @ 41c8e023", "preferences/v3", "canary 25 %", "the history is not installed");
      await page.getByRole("link", { name: "llama3-8b-dpo", exact: true }).waitFor();
      await never(page, "password");
      const lit = async () => (await page.locator(".part.lit .partname").allInnerTexts()).toSorted().join();
      if (/v1/.test(await lit())) throw new Error("what does not serve is lit");
      await page.getByRole("button", { name: /^v2 / }).click();
      await page.waitForURL(/focus=version/);
      await sees(page, "v2 came from 4 parts of this, and 3 parts came from it.");
      const chosen = await lit();
      for (const part of ["v2", "v3", "llama3-8b-sft-2", "support-chat", "torch"]) if (!chosen.includes(part)) throw new Error(`${part} is not lit among ${chosen}`);
      if (/v1|preferences/.test(chosen)) throw new Error(`too much is lit: ${chosen}`);
      // By keys: from the version to the job at its left, which is chosen.
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("Enter");
      await sees(page, "came from 3 parts of this");
      await page.getByRole("button", { name: "Show what serves now" }).click();
      await sees(page, "Choose a part to see all that it came from");
    },
  ],
  [
    "model-many",
    "/models/vision/vit-g14",
    async (page) => {
      await sees(page, "image-tag", "2 older versions are not in it.");
      await page.getByRole("button", { name: /^v1 / }).waitFor(); // the oldest, which serves
      await page.getByRole("link", { name: "vit-g14-v3", exact: true }).click();
      await sees(page, "1 older version is not in it.");
      await page.locator('[aria-pressed="true"]', { hasText: "v3" }).waitFor();
      await page.getByRole("button", { name: "Show all" }).click();
      await page.getByRole("button", { name: /^v4 / }).waitFor();
      await never(page, "not in it");
    },
  ],
  [
    "model-empty",
    "/models/research/tabular",
    async (page) => sees(page, "The model has no versions."),
  ],
  [
    "services",
    "/services",
    async (page) => {
      await page.getByRole("row", { name: /support-chat Ready.*159.s, p99 1,180 ms, 0.19 % failed.*53.s, p99 1,640 ms, 0.26 % failed.*llama3-8b-sft-v3 at 25 %, step 2 of 4/ }).waitFor();
      await page.getByRole("row", { name: /image-tag PredictorNotReady.*96.s, p99 88 ms, 0 % failed.*no requests.*not known the gateway has counted no request of it/ }).waitFor();
      await never(page, "of-others");
    },
  ],
  [
    "service",
    "/services/nlp/support-chat",
    async (page) => {
      await sees(page, "Rollout of main", "stable is llama3-8b-sft-v2", "until a person goes on", "the next step follows in 6 minutes");
      await page.locator('[aria-current="step"]', { hasText: "25 %" }).waitFor();
      await page.getByRole("row", { name: /main llama3-8b-sft-v2 100 75 % 159.s 1,180 ms 0.19 %/ }).waitFor();
      await page.getByRole("row", { name: /main canary llama3-8b-sft-v3 by the rollout 25 % 53.s 1,640 ms 0.26 %/ }).waitFor();
      await sees(page, "0.26 %", "of 1 %", "close to the bound", "enough to judge", "Good so far");
      await page.getByRole("button", { name: "Roll back" }).click();
      await page.getByRole("dialog").getByText("llama3-8b-sft-v2 serves everything again").waitFor();
      await page.getByRole("button", { name: "Keep it as it is" }).click();
      await page.getByRole("button", { name: "Next step" }).waitFor();
      await page.getByRole("button", { name: "Change version" }).click();
      await page.getByRole("dialog").getByText("It goes out in steps: 5 %, 25 %, 50 %, 100 %.").waitFor();
      await page.getByRole("button", { name: "Keep it as it is" }).click();
    },
  ],
  [
    "service-weights",
    "/services/vision/image-tag",
    async (page) => {
      await page.getByRole("row", { name: /a vit-g14-v1 30 30 % 96.s 88 ms 0 % 2.2/ }).waitFor();
      await page.getByRole("row", { name: /b vit-g14-v1 70 70 % none – – 2.2/ }).waitFor();
      await page.getByRole("row", { name: /c vit-g14-v2 0 0 % not known not known not known 0.2/ }).waitFor();
      await sees(page, "Not known: the gateway has counted no request of it.");
      await sees(page, "ImagePull: <img src=x onerror=alert(1)>");
      await sees(page, "You may not change its version or change weights: the right to get inferences.serving.kubedl.io in vision is missing.");
      if (await page.getByRole("button", { name: "Change weights" }).isEnabled()) throw new Error("a button that cannot work is on");
    },
  ],
  [
    "crons",
    "/crons",
    async (page) => {
      await page.getByRole("row", { name: /dlrm-daily.*0 3 \* \* \*.*Europe.Berlin.*Scheduled.*1 failed/ }).waitFor();
      await page.getByRole("row", { name: /nightly-eval.*Missed.*not started within 600 seconds/ }).waitFor();
      await never(page, "of-others");
    },
  ],
  [
    "cron",
    "/crons/nlp/dlrm-daily",
    async (page) => {
      await sees(page, "runs may overlap");
      await page.getByRole("row", { name: /bert-large-pretrain Active/ }).waitFor();
      await page.getByRole("row", { name: /dlrm-daily-7 Failed/ }).waitFor();
      await sees(page, "You may not run: the right to get crons.apps.kubedl.io in nlp is missing.");
      await page.getByRole("button", { name: "Suspend schedule" }).waitFor();
      // Not opened: the log of a running pod comes from an API server, which this test does not have.
      const target = await page.getByRole("link", { name: "bert-large-pretrain" }).getAttribute("href");
      if (target !== "/jobs/nlp/pytorchjob/bert-large-pretrain") throw new Error(`the run leads to ${target}`);
    },
  ],
];

export const forbidden = [
  [
    "overview",
    "/",
    async (page) => {
      await sees(page, "May not list nodes.", "ben has no right to list nodes", "kubectl create clusterrole list-nodes", "vit-g14-finetune");
      await never(page, "a100-01");
      await never(page, "bert-large");
    },
  ],
  [
    "nodes",
    "/nodes",
    async (page) => {
      await sees(page, "May not list nodes.", "kubectl create clusterrole list-nodes");
      await never(page, "a100");
    },
  ],
  [
    "queues",
    "/queues",
    async (page) => {
      await sees(page, "Queues are hidden from you.", "list clusterqueues.kueue.x-k8s.io");
      await never(page, "research-and-nlp");
    },
  ],
  ...["models", "services", "crons"].map((name) => [
    name,
    `/${name}`,
    async (page) => {
      await sees(page, "are hidden from you.", `list ${name === "services" ? "inferences" : name}.`);
      await never(page, "llama3");
    },
  ]),
  ...["models/nlp/llama3-8b-sft", "services/nlp/support-chat", "crons/nlp/dlrm-daily"].map((path) => [
    path.replaceAll("/", "-"),
    `/${path}`,
    async (page) => sees(page, "ben has no right to list", "kubectl create rolebinding kubedl-view"),
  ]),
];

// The same pages in a cluster without their kinds.
export const absent = [
  ["queues", "/queues", async (page) => sees(page, "Kueue is not installed.")],
  ...["Models", "Services", "Crons"].map((title) => [
    title.toLowerCase(),
    `/${title.toLowerCase()}`,
    async (page) => sees(page, `${title} are not installed.`),
  ]),
];
