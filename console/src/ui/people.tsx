import { Select, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { takeData, type Api } from '../api/client';
import { useAccount } from '../app/account';
import { describePerson, showPerson, toRecipient, type Person } from './person';

/** Reads what is known of people. @returns for each name the person, or the name itself */
export async function readPeople(api: Api, names: readonly string[]): Promise<(name: string) => Person> {
  const query = { names: [...new Set(names)].join(',') };
  const { data } =
    names.length === 0 ? { data: [] } : await takeData(api.GET('/console/api/people', { params: { query } }));
  const found = new Map(data.map((person) => [person.asked, person]));
  return (name) => found.get(name) ?? { id: name };
}

/** A person with a second line that tells people of the same name apart. */
export function PersonText({ person }: { person: Person }) {
  const details = describePerson(person);
  return (
    <>
      <span className="wrap">{showPerson(person)}</span>
      {details !== null && (
        <Text size="xs" c="dimmed" className="wrap">
          {details}
        </Text>
      )}
    </>
  );
}

const TYPING_MS = 400;

interface PersonSelectProps {
  label: string;
  /** A phone number or a network id. */
  value: string | null;
  onChange: (value: string | null) => void;
}

/** Searches people by all that is known of them. A phone number or id that nobody has can be chosen too. */
export function PersonSelect({ label, value, onChange }: PersonSelectProps) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [typed] = useDebouncedValue(text.trim(), TYPING_MS);
  const chosen = useChosen(value);
  const isTyping = typed !== '' && (chosen === null || typed !== showPerson(chosen));
  const offered = useOffered(isTyping ? typed : '');
  // The field shows the label of its value, which must be among the data.
  const people = new Map(
    [...(chosen ? [chosen] : []), ...(offered ?? [])].map((person) => [person.id, person]),
  );
  const isOffered = new Set(offered?.map(({ id }) => id));
  return (
    <Select
      label={label}
      placeholder={t('person.placeholder')}
      data={[...people.values()].map((person) => ({ value: person.id, label: showPerson(person) }))}
      // The API has searched.
      filter={({ options }) => options.filter((option) => 'value' in option && isOffered.has(option.value))}
      renderOption={({ option }) => (
        <div>
          <PersonText person={people.get(option.value) ?? { id: option.value }} />
        </div>
      )}
      nothingFoundMessage={isTyping && offered ? t('person.none') : undefined}
      value={value}
      onChange={onChange}
      searchValue={text}
      onSearchChange={setText}
      allowDeselect={false}
      searchable
      clearable
    />
  );
}

function useChosen(value: string | null): Person | null {
  const { id, api } = useAccount();
  const { data } = useQuery({
    queryKey: [id, 'people', 'named', value],
    queryFn: async () => (await readPeople(api, [value!]))(value!),
    enabled: value !== null,
  });
  return value === null ? null : { ...data, id: value };
}

/** The people whom a text may mean; undefined while they are searched. */
function useOffered(typed: string): Person[] | undefined {
  const { id, api } = useAccount();
  const { data: found } = useQuery({
    queryKey: [id, 'people', 'found', typed],
    queryFn: async () =>
      (await takeData(api.GET('/console/api/people', { params: { query: { search: typed } } }))).data,
    enabled: typed !== '',
  });
  const written = toRecipient(typed);
  if (!found || !NAME.test(written)) return found;
  const isFound = found.some((person) => person.id === written || person.phone === written);
  return isFound ? found : [...found, { id: written }];
}

/** A phone number, or the id of a person or a group. */
const NAME = /^(?:\d{8,15}|[\d-]+@(?:lid|s\.whatsapp\.net|g\.us))$/;
