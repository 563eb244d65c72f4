import { Button, Checkbox, Group, Select, Stack, TextInput } from '@mantine/core';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useAccount } from '../app/account';
import type { AccountAccess } from '../session/session-api';
import { InstancesSelect } from '../ui/instance-select';
import { ProblemAlert } from '../ui/problem-alert';

/** Days until a key expires. */
const LIFETIMES = { never: null, month: 30, quarter: 90, year: 365 } as const;
type Lifetime = keyof typeof LIFETIMES;

export interface NewKey {
  name: string;
  scopes: string[];
  /** Null: all that the user may use. */
  instance_ids: string[] | null;
  /** Null: it does not expire. */
  days: number | null;
}

interface KeyFormProps {
  initial: { name: string; scopes: AccountAccess['scopes']; lifetime: Lifetime };
  /** The key must expire. */
  expires?: boolean;
  label: string;
  attempt: { mutate: (key: NewKey) => void; error: Error | null; isPending: boolean };
  /** Further buttons. */
  children?: ReactNode;
}

/** Name, scopes, numbers and lifetime of a new key, within the rights of the user. */
export function KeyForm({ initial, expires = false, label, attempt, children }: KeyFormProps) {
  const { t } = useTranslation();
  const { access } = useAccount();
  const [name, setName] = useState(initial.name);
  const [scopes, setScopes] = useState<string[]>([...initial.scopes]);
  const [instances, setInstances] = useState<string[]>([]);
  const [lifetime, setLifetime] = useState(initial.lifetime);
  const lifetimes = (Object.keys(LIFETIMES) as Lifetime[]).filter((value) => !expires || value !== 'never');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const instance_ids = instances.length === 0 ? null : instances;
    attempt.mutate({ name: name.trim(), scopes, instance_ids, days: LIFETIMES[lifetime] });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('common.name')}
          description={t('keys.nameHelp')}
          required
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Checkbox.Group label={t('keys.scopes')} value={scopes} onChange={setScopes}>
          <Stack gap="xs" mt="xs">
            {access.scopes.map((scope) => (
              <Checkbox key={scope} value={scope} label={scope} description={t(`scopes.${scope}`)} />
            ))}
          </Stack>
        </Checkbox.Group>
        <InstancesSelect description={t('keys.numbersHelp')} value={instances} onChange={setInstances} />
        <Select
          label={t('keys.lifetime')}
          data={lifetimes.map((value) => ({ value, label: t(`keys.lifetimes.${value}`) }))}
          value={lifetime}
          onChange={(value) => value !== null && setLifetime(value)}
          allowDeselect={false}
        />
        <ProblemAlert error={attempt.error} />
        <Group justify="flex-end">
          {children}
          <Button type="submit" loading={attempt.isPending} disabled={scopes.length === 0}>
            {label}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
