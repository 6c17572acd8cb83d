import { memo } from "react";
import { look, word } from "../text/states";
import { Icon } from "./icon";

/** A state: a sign, a word and a colour, never a colour alone. */
export const State = memo(function State({ state, plain = false }: { state: string; plain?: boolean }) {
  const { tone, sign } = look(state);
  return (
    <span className={`pill tone-${tone}${plain ? " plain" : ""}`}>
      <Icon name={sign} small />
      {word(state)}
    </span>
  );
});
