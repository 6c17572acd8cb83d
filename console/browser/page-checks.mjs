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
      await page.getByRole("row", { name: /bert-large-pretrain mei.lin 16 33.3 %/ }).waitFor();
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
];

// The same pages in a cluster without Kueue.
export const absent = [["queues", "/queues", async (page) => sees(page, "Kueue is not installed.")]];
