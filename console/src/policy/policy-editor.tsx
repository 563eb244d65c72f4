import { Badge, Button, Group, Paper, Stack, Switch, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ProblemAlert } from '../ui/problem-alert';
import { SavedNote } from '../ui/saved-note';
import { PolicyFields, type EffectivePolicy, type PolicyKey, type PolicyValues } from './policy-fields';

const KEYS: readonly PolicyKey[] = [
  'messages_per_minute',
  'new_contacts_per_day',
  'mass_block',
  'active_hours',
  'opt_out',
  'menu_ttl_hours',
  'reject_calls',
];
const SOURCE_COLORS = { environment: 'gray', account: 'blue', instance: 'teal' } as const;

interface PolicyEditorProps {
  policy: EffectivePolicy;
  level: 'account' | 'instance';
  /** Stores the values of this level; null: the user may only read. */
  save: ((overrides: Partial<PolicyValues>) => Promise<unknown>) | null;
}

/** The effective policy. Each value comes from the gateway, the account or the number; this level can set its own. */
export function PolicyEditor({ policy, level, save }: PolicyEditorProps) {
  const { t } = useTranslation();
  const [values, setValues] = useState<PolicyValues>(policy);
  const [own, setOwn] = useState(() => new Set(KEYS.filter((key) => policy.sources[key] === level)));
  const change = useMutation({
    mutationFn: async () => save?.(Object.fromEntries([...own].map((key) => [key, values[key]]))),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  const toggle = (key: PolicyKey, isOwn: boolean) => {
    const next = new Set(own);
    if (isOwn) next.add(key);
    else next.delete(key);
    setOwn(next);
  };
  return (
    <form onSubmit={submit}>
      <Stack maw={760}>
        <Text c="dimmed">{t(`policy.intro.${level}`)}</Text>
        {KEYS.map((key) => (
          <Paper key={key} withBorder p="md" component="section" aria-label={t(`policy.keys.${key}.title`)}>
            <Group justify="space-between" wrap="nowrap" align="flex-start">
              <Stack gap={0}>
                <Title order={2} size="h5">
                  {t(`policy.keys.${key}.title`)}
                </Title>
                <Text size="sm" c="dimmed">
                  {t(`policy.keys.${key}.help`)}
                </Text>
              </Stack>
              <Badge color={SOURCE_COLORS[policy.sources[key]]} variant="light" tt="none" flex="none">
                {t(`policy.sources.${policy.sources[key]}`)}
              </Badge>
            </Group>
            {save && (
              <Switch
                my="sm"
                label={t(`policy.own.${level}`)}
                checked={own.has(key)}
                onChange={(event) => toggle(key, event.currentTarget.checked)}
              />
            )}
            <PolicyFields
              name={key}
              values={values}
              disabled={!own.has(key) || !save}
              set={(part) => setValues({ ...values, ...part })}
            />
          </Paper>
        ))}
        <ProblemAlert error={change.error} />
        {save && (
          <Group>
            <Button type="submit" loading={change.isPending}>
              {t('common.save')}
            </Button>
            <SavedNote shown={change.isSuccess} />
          </Group>
        )}
      </Stack>
    </form>
  );
}
