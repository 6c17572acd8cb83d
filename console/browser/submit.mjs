// A person submits a job by the form, looks at it, and submits it again. Environment: NAMESPACE, and that of stage.mjs.
import { page, pictures, play, reached, signedIn } from "./stage.mjs";

const { NAMESPACE } = process.env;
const field = (name) => page.getByLabel(name, { exact: true });
const yaml = page.getByLabel("YAML of the job");
const button = (name) => page.getByRole("button", { name, exact: true });
const worker = page.getByRole("group", { name: "Worker" });

const says = async (text) => {
  const written = await yaml.inputValue();
  if (!written.includes(text)) throw new Error(`the YAML does not say ${text}:\n${written}`);
};

await play(
  async () => {
    await signedIn("/jobs"); // Overview asks for nodes, which this person may not see
    await page.getByRole("link", { name: "Submit" }).click();
    await field("Name").fill("From Form"); // no name that the API server takes
    await field("Namespace").fill(NAMESPACE);
    await field("Image").fill("train:1");
    await field("Command").fill("python train.py --text 'two words'");
    await worker.getByLabel("Replicas").fill("x");
    await worker.getByText("A whole number, or nothing").waitFor();
    await worker.getByLabel("Replicas").fill("3");
    await worker.getByLabel("GPUs each").fill("2");
    await says("- two words".replace("two words", '"two words"'));
    await says('nvidia.com/gpu: "2"');
    await button("Check").click();
    await page.getByText("a name is needed, of small letters").first().waitFor();
    await pictures("submit-refused");
    await field("Name").fill("from-form");
    await yaml.fill((await yaml.inputValue()).replace("replicas: 3", "replicas: -3"));
    await button("Check").click();
    await page.getByText("should be greater than or equal to 0").first().waitFor(); // the API server's own words
    await yaml.fill((await yaml.inputValue()).replace("replicas: -3", "replicas: 2"));
    await page.waitForFunction(() => [...document.querySelectorAll("fieldset[aria-label=Worker] input")][0]?.value === "2"); // the form follows
    await yaml.fill((await yaml.inputValue()).replace("spec:\n", "spec:\n  backofLimit: 3\n"));
    await button("Check").click();
    await page.getByText('unknown field "spec.backofLimit"').first().waitFor(); // a typing error is not dropped
    await yaml.fill((await yaml.inputValue()).replace("backofLimit", "backoffLimit"));
    await button("Check").click();
    await page.getByText("The API server would take it").waitFor();
    await pictures("submit");
    await reached("checked");
    await button("Submit").click();
    await page.getByRole("heading", { name: "from-form" }).waitFor();
    await reached("submitted");
    await button("Submit again").click();
    await page.waitForFunction(() => document.querySelector("textarea")?.value.includes("name: from-form-r2"));
    await says("backoffLimit: 3");
    await pictures("submit-again");
    await button("Submit").click();
    await page.getByRole("heading", { name: "from-form-r2" }).waitFor();
  },
  /status of 4(22|13)/, // what was refused on purpose
);
