import { z } from 'zod';
import { text, Username } from '@gwk/core/resources/common';

export const MAX_ASKED_PEOPLE = 200;
const MAX_NAME = 60;

export const ConsolePersonQuery = z
  .strictObject({
    search: text(1, 100)
      .optional()
      .meta({ description: 'Part of the name, the username, the phone number or the id.' }),
    names: z
      .string()
      .max(MAX_ASKED_PEOPLE * MAX_NAME)
      .optional()
      .meta({
        description: `At most ${MAX_ASKED_PEOPLE} phone numbers and network ids, separated by commas.`,
        examples: ['5511987654321,101234567890123@lid'],
      }),
  })
  .refine(({ search, names }) => (search === undefined) !== (names === undefined), {
    path: ['search'],
    message: 'exactly one of search and names is required',
  });

export const ConsolePersonOut = z.object({
  id: z.string().meta({ description: 'The LID if it is known, else the network id of the phone number.' }),
  phone: z.string().nullable(),
  username: Username.nullable(),
  name: z.string().nullable(),
  asked: z.string().nullable().meta({ description: 'The item of `names` that this is; null in a search.' }),
});
export type ConsolePersonOut = z.infer<typeof ConsolePersonOut>;

export const ConsolePersonList = z.object({ data: z.array(ConsolePersonOut) });
