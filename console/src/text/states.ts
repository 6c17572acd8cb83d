// The states of jobs: their colour, their sign, and the order in which they need a person. Pure.

export type Tone = "running" | "ok" | "wait" | "fail" | "off";
export type Sign = "running" | "ok" | "fail" | "wait" | "clock" | "restart" | "off" | "help";

interface Look {
  readonly tone: Tone;
  readonly sign: Sign;
  readonly order: number;
}

const UNKNOWN: Look = { tone: "off", sign: "help", order: 1 };
const LOOKS: Readonly<Record<string, Look>> = {
  Queuing: { tone: "wait", sign: "wait", order: 0 },
  Restarting: { tone: "wait", sign: "restart", order: 0 },
  Created: { tone: "wait", sign: "clock", order: 0 },
  Running: { tone: "running", sign: "running", order: 1 },
  Failed: { tone: "fail", sign: "fail", order: 2 },
  Suspended: { tone: "off", sign: "off", order: 2 },
  Succeeded: { tone: "ok", sign: "ok", order: 2 },
  Deleted: { tone: "off", sign: "off", order: 2 }, // of the history: before it ended
  Lost: { tone: "off", sign: "help", order: 2 }, // of the history: nobody saw how it ended
};

export const look = (state: string): Look => LOOKS[state] ?? UNKNOWN;
export const STATES = Object.keys(LOOKS);

/** Whether a job has ended, so that nothing about it changes any more. */
export const hasEnded = (state: string): boolean => ["Succeeded", "Failed", "Deleted", "Lost"].includes(state);

/** The word for a state; a job that no operator has seen has none. */
export const word = (state: string): string => state || "Not seen";
